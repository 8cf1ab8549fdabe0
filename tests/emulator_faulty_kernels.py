"""All planted faults."""

import emulator_planted_addresses
import emulator_planted_blocks
import emulator_planted_bounds
import emulator_planted_rules
import emulator_planted_values

PLANTED = (
    *emulator_planted_bounds.PLANTED,
    *emulator_planted_addresses.PLANTED,
    *emulator_planted_blocks.PLANTED,
    *emulator_planted_values.PLANTED,
    *emulator_planted_rules.PLANTED,
)
