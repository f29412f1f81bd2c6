import { InsufficientMemoryError, NoBinaryFoundError } from 'node-llama-cpp'
import { LoadError } from '../base/load-error.ts'

/** llama.cpp can't use the engine's GPU. Berth must not charge a GPU for an engine on the CPU. */
export function noGpu(complaints: readonly string[]): LoadError {
  const reason = complaints.slice(-3).join(' / ').slice(0, 1000) || 'llama.cpp found no usable GPU'
  return new LoadError(
    'provider_error',
    `The GPU can't be used: ${reason}. Check the driver and its libraries.`,
  )
}

/** Finds the cause of a failed load in the error and in llama.cpp's complaints. */
export function toLoadError(error: unknown, complaints: readonly string[]): LoadError {
  if (error instanceof LoadError) return error
  const reason = error instanceof Error ? error.message : String(error)
  const detail = [reason, ...complaints.slice(-3)].join(' / ').slice(0, 1000)
  if (error instanceof NoBinaryFoundError) {
    return new LoadError('engine_crashed', 'None of the installed llama.cpp binaries runs on this machine.')
  }
  const memory = /out of memory|insufficient memory|failed to allocate|unable to allocate|bad_alloc/i
  if (error instanceof InsufficientMemoryError || memory.test(detail)) {
    return new LoadError('out_of_memory', `The model does not fit into memory: ${detail}`)
  }
  if (/failed to load model|unknown model architecture|unsupported|not supported/i.test(detail)) {
    return new LoadError('launch_rejected', `llama.cpp cannot load this model: ${detail}`)
  }
  return new LoadError('engine_crashed', `The model could not be loaded: ${detail}`)
}
