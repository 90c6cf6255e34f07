from .exercises import EXERCISES
from .frozen_bodies import lost_brackets, released_counts, swept_rate
from .masked_language_models import (
    directions_kept,
    hidden_loss,
    joined_pair,
    masking_shares,
    mirrored_half,
    no_leak,
)
from .random_features import (
    dichotomies,
    enough_dimensions,
    kitchen_sinks,
    leaky_update,
    readout_pairs,
    scaled_to_radius,
)
from .reading import bytes_kept, spread
from .reservoir_layers import (
    annealed,
    area_under_curve,
    gradient_below,
    gradients_needed,
    places,
    saved_products,
)
from .supermasks import bits_bound, break_even, choices, packed_bits, score_gradient, top_mask
from .transformer import (
    attention_streams,
    causal_mask,
    length_penalty,
    parameter_count,
    trained_share,
    zeroed_diagonals,
)
from .verdict import Exercise, Verdict
from .whole_picture import front_share, on_the_front, tasks_to_pay

__all__ = [
    "EXERCISES",
    "Exercise",
    "Verdict",
    "annealed",
    "area_under_curve",
    "attention_streams",
    "bits_bound",
    "break_even",
    "bytes_kept",
    "causal_mask",
    "choices",
    "dichotomies",
    "directions_kept",
    "enough_dimensions",
    "front_share",
    "gradient_below",
    "gradients_needed",
    "hidden_loss",
    "joined_pair",
    "kitchen_sinks",
    "leaky_update",
    "length_penalty",
    "lost_brackets",
    "masking_shares",
    "mirrored_half",
    "no_leak",
    "on_the_front",
    "packed_bits",
    "parameter_count",
    "places",
    "readout_pairs",
    "released_counts",
    "saved_products",
    "scaled_to_radius",
    "score_gradient",
    "spread",
    "swept_rate",
    "tasks_to_pay",
    "top_mask",
    "trained_share",
    "zeroed_diagonals",
]
