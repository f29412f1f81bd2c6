"""Writes GGUF version 3 files (ggml's docs/gguf.md): header, metadata, tensor descriptions, tensor data."""

import struct

import numpy

ALIGNMENT = 32
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TENSOR_F32, TENSOR_Q8_0 = 0, 8
BLOCK = 32


def write_gguf(path, metadata, tensors):
    """Stores matrices as Q8_0 and vectors as float32. The output is deterministic: keys and tensors keep their order."""
    head = [b'GGUF', struct.pack('<IQQ', 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        head += [_string(key), _typed(value)]
    data = []
    offset = 0
    for name, tensor in tensors.items():
        kind, content = (TENSOR_Q8_0, quantize(tensor)) if tensor.ndim == 2 else (TENSOR_F32, tensor.astype('<f4').tobytes())
        # GGUF lists the fastest-varying dimension first.
        shape = tensor.shape[::-1]
        head.append(_string(name) + struct.pack(f'<I{len(shape)}QIQ', len(shape), *shape, kind, offset))
        data.append(content + bytes(-len(content) % ALIGNMENT))
        offset += len(data[-1])
    head = b''.join(head)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + b''.join(data))


def quantize(matrix):
    """Quantizes to Q8_0: per block of 32 values, a half-precision scale and 32 signed bytes."""
    blocks = matrix.astype('<f4').reshape(-1, BLOCK)
    scales = numpy.abs(blocks).max(axis=1, keepdims=True) / 127
    inverse = numpy.divide(1, scales, out=numpy.zeros_like(scales), where=scales > 0)
    packed = numpy.empty(len(blocks), dtype=[('scale', '<f2'), ('values', 'i1', BLOCK)])
    packed['scale'] = scales[:, 0]
    packed['values'] = numpy.rint(blocks * inverse)
    return packed.tobytes()


def _string(text):
    encoded = text.encode()
    return struct.pack('<Q', len(encoded)) + encoded


def _type(value):
    if isinstance(value, bool):
        return BOOL
    return {int: UINT32, float: FLOAT32, str: STRING}[type(value)]


def _typed(value):
    if isinstance(value, list):
        if isinstance(value[0], str):
            return struct.pack('<IIQ', ARRAY, STRING, len(value)) + b''.join(map(_string, value))
        return struct.pack(f'<IIQ{len(value)}i', ARRAY, INT32, len(value), *value)
    kind = _type(value)
    if kind == STRING:
        return struct.pack('<I', STRING) + _string(value)
    return struct.pack('<I' + {BOOL: '?', UINT32: 'I', FLOAT32: 'f'}[kind], kind, value)
