"""Random words said twice: in these a head can only find what followed a word by having seen it before."""

from __future__ import annotations

import numpy as np

N_WORDS = 24
COMMON = (
    "apple arrow bank beach bell bird boat bone book bottle bridge brother camera candle castle chair church "
    "clock cloud coffee copper corner cotton crown desert doctor dragon dream engine farmer feather field finger "
    "fire flower forest garden ghost glass gold guitar hammer harbor hill honey horse hotel house island jacket "
    "judge king kitchen knife lake lamp leaf lemon letter lion machine market mirror money moon mountain music "
    "needle ocean office orange painter paper pepper piano pilot pocket prison queen rabbit radio river road rope "
    "salt school shadow ship shoulder silver soldier spring station steel stone storm sugar summer table teacher "
    "temple thunder ticket tiger tower train tree valley village violin water whale window winter wolf wood "
    "yellow"
)
"""117 words, each one token of the trained model's vocabulary."""


def random_words_twice(seed: int, count: int = N_WORDS) -> str:
    """So many different words in random order, and the same once more.

    Parameters
    ----------
    seed
        The same seed always gives the same words.
    count
        How many, at most 117.

    Returns
    -------
    str
        The words with a blank between them, said twice.

    Notes
    -----
    Each word stands at two places, so what followed it before is one key, and neither grammar nor meaning tells
    which: a head that finds it has matched the prefix. A head uniform over n keys gives it 1/n.

    References
    ----------
    Olsson et al. 2022, section 2 (prefix matching, on repeated sequences of random tokens).

    Examples
    --------
    >>> random_words_twice(0, 3)
    'wolf honey village wolf honey village'
    """
    words = COMMON.split(" ")
    chosen = [words[place] for place in np.random.default_rng(seed).permutation(len(words))[:count]]
    return " ".join([*chosen, *chosen])
