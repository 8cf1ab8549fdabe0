"""A workload on a device, as the checks use it: fresh inputs, a run on poisoned memory, a judgement."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from kdiag.records import ConfigurationCheck

from .judging import judge, outputs_of, terms_of
from .poison import poisoned_allocations

SEEDS = (1, 2)
Config = dict[str, Any]
Outputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Subject:
    """A loaded workload and where its tensors live: "cuda", or "cpu" in tests."""

    workload: ModuleType
    device: str = "cuda"

    def make(self, config: Config, seed: int = SEEDS[0]) -> Config:
        inputs: Config = self.workload.make_inputs(config, self.device, seed)
        return inputs

    def run(self, module: ModuleType, inputs: Config) -> Outputs:
        """The outputs, perhaps not there yet; what is never written is poison."""
        with poisoned_allocations():
            return outputs_of(self.workload.run(module, inputs))

    def judge(self, outputs: Outputs, pristine: Config, config: Config, name: str) -> ConfigurationCheck:
        """The outputs beside the reference of `pristine` inputs, which `run` has not seen."""
        if self.device == "cuda":
            torch.cuda.synchronize()  # an illegal access shows here
        references = outputs_of(self.workload.reference(pristine))
        declared = self.workload.tolerance(config) if hasattr(self.workload, "tolerance") else None
        return judge(outputs, references, declared, name, terms_of(self.workload.flops(config), references))

    def check(self, module: ModuleType, config: Config, name: str, seed: int = SEEDS[0]) -> ConfigurationCheck:
        """Run on fresh inputs and judge."""
        return self.judge(self.run(module, self.make(config, seed)), self.make(config, seed), config, name)
