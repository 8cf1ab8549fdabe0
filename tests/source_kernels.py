"""Small kernels to read facts from."""

from kdiag.diagnose.source.read import KernelFacts, Resolver, SourceFacts, read_source


def read(text: str, resolve: Resolver | None = None) -> SourceFacts:
    return read_source(f"import cuda.tile as ct\n{text}", "k.py", resolve)


def kernel(body: str, *, before: str = "", parameters: str = "x, y, n: int, T: ct.Constant[int]") -> KernelFacts:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return read(f"{before}\n@ct.kernel\ndef k({parameters}):\n{lines}\n").kernels[-1]
