//! Attention: `softmax(q kᵀ) v`, without its matrix of scores in memory.
