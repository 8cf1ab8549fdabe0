"""Small kernels to read facts from."""

from kdiag.diagnose.source.read import read_source


def read(text, resolve=None):
    return read_source(f"import cuda.tile as ct\n{text}", "k.py", resolve)


def kernel(body, *, before="", parameters="x, y, n: int, T: ct.Constant[int]"):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return read(f"{before}\n@ct.kernel\ndef k({parameters}):\n{lines}\n").kernels[-1]
