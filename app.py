from attnviz.ui import navigation

navigation.run()
