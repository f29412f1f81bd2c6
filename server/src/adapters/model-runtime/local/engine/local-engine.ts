import { fileURLToPath } from 'node:url'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import type { RuntimeEngine } from '../../../../ports/runtime-engine.ts'
import type { EngineRights } from './containment.ts'
import type { EngineStart } from './engine-control.ts'

/** How to start an engine, without its key and rights. */
export type EngineCommand = Omit<EngineStart, 'apiKey' | 'rights'>

/** Where and with which rights an engine runs. */
export interface EnginePlace {
  /** UUIDs; null if the engine shares the memory of the host */
  gpus: readonly string[] | null
  /** True if the engine must not use the GPUs that the host has */
  hidesGpus: boolean
  /** Such as `NVIDIA L4`; null without GPUs */
  gpuModel: string | null
  /** Such as 8.9; null when unknown or without NVIDIA GPUs */
  computeCapability: number | null
  /** The part of the whole memory of each GPU that the engine may use, above 0 and below 1 */
  memoryShare: number
  rights: EngineRights
}

/** What a command line shows of a place. */
export type DescribedPlace = Pick<EnginePlace, 'gpus' | 'hidesGpus' | 'computeCapability' | 'memoryShare'>

/** The weights of a model on this host. */
export interface LocalWeights {
  /** A GGUF file, or the folder of a Hugging Face repository */
  model: string
  /** The multimodal projector; null for none */
  projector: string | null
  /** A GGUF file or a folder for each LoRA of the spec, in its order */
  loras: readonly string[]
}

/** An engine of this host. */
export interface LocalEngine {
  facts: RuntimeEngine
  /** The command line for people; null for an engine that takes no options */
  describe(spec: EngineSpec, place: DescribedPlace): readonly string[] | null
  /** Builds the command of an engine for weights on this host. */
  build(spec: EngineSpec, weights: LocalWeights, place: EnginePlace): Promise<EngineCommand>
}

export const mebibyte = 2 ** 20

/** Runs other servers like Berth's engine. */
export const supervisorProgram = fileURLToPath(
  new URL('../../../../../../engine/src/supervisor/main.ts', import.meta.url),
)

/** A server that knows no launch files. */
interface SupervisedServer {
  title: string
  /** null for a program that doesn't serve requests to models, and is ready once it runs */
  port: number | null
  command: readonly string[]
  variables: Record<string, string>
  /** Matches the log line of an engine that uses the CPU in place of its GPUs, and therefore fails */
  noGpu: RegExp | null
}

/** Runs a server that knows no launch files. */
export function supervise({ title, port, command, variables, noGpu }: SupervisedServer): EngineCommand {
  const required = noGpu === null ? [] : ['--no-gpu', noGpu.source]
  const ports = port === null ? [] : ['--port', String(port)]
  const args = [...ports, ...required, '--', ...command]
  return { program: supervisorProgram, title, args, variables }
}
