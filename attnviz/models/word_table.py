"""What is known of a trained model's table of word vectors as a whole."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attnviz.models.minilm import Encoder
from attnviz.shapes import Matrix

MOST_ROWS = 4096


@lru_cache(maxsize=2)
def word_products(encoder: Encoder) -> Matrix:
    """Eᵀ E of the table of word vectors E less their mean, `(d_model, d_model)`, in float64; once per process.

    Notes
    -----
    What all words share is left out: it makes no word more likely than another.
    """
    words = encoder.network.words
    mean = words.mean(axis=0, dtype=np.float64)
    total = np.zeros((words.shape[1], words.shape[1]))
    for start in range(0, len(words), MOST_ROWS):
        part = words[start : start + MOST_ROWS] - mean
        total += part.T @ part
    total.flags.writeable = False
    return total
