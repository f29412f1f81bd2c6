import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseCache } from '../engine/containment.ts'
import type { EngineRights } from '../engine/containment.ts'
import { pickEnvironment } from '../engine/engine-environment.ts'
import { parseDevices } from '../engine/llama-devices.ts'
import type { Gpu } from '../gpus.ts'
import { limitToGpus } from '../limit-to-gpus.ts'
import { lastLine, runProgram } from '../run-program.ts'
import type { ProgramRun } from '../run-program.ts'
import type { Command, LocalRuntimeSettings } from '../settings.ts'
import { findPython } from './find-engines.ts'
import { buildLibraryPath } from './library-path.ts'
import type { CudaLibrary, EngineProblem, FoundEngine, ProbeResult } from './types.ts'

/** How long a probe may take in which nothing is compiled */
export const probeTimeoutMs = 10_000
/** How many times as long PyTorch may take to load, and a driver to compile an engine's code for a GPU */
const patience = 12
/** Compute capabilities for which the CUDA 13 build has machine code. The driver compiles for all others. */
const compiledCapabilities = [8.6, 8.9, 12, 12.1]

const file = (path: string) => fileURLToPath(new URL(`../../../../../../${path}`, import.meta.url))
/** The script that probes Berth's engine */
export const defaultProbe = file('engine/src/probe.ts')
const smallestModel = file('catalog/weights/berth-tiny.gguf')

/** What probes of this host depend on. */
export interface ProbeContext {
  settings: Pick<LocalRuntimeSettings, 'environment' | 'probeTimeoutMs' | 'probeProgram'>
  rights: EngineRights
  /** Folders of CUDA's runtime that Berth has installed, the first in the order of the search */
  cudaFolders: readonly string[]
}

/** Has an engine compute on a GPU, in a child process, or asks its program for its devices. */
export async function probeDevice(
  context: ProbeContext,
  engine: FoundEngine,
  gpu: Gpu,
): Promise<ProbeResult> {
  switch (engine.name) {
    case 'embedded':
      return gpu.vendor === 'nvidia' ? probeEmbedded(context, gpu) : unusable("NVIDIA's GPUs and the CPU")
    case 'llama-server':
      return askLlamaServer(context, engine.command!, gpu)
    case 'vllm':
      return askVllm(context, engine, gpu)
  }
}

function unusable(builtFor: string): ProbeResult {
  return { works: false, problem: { kind: 'other hardware', builtFor } }
}

/** What the probe of Berth's engine prints. */
interface EmbeddedOutput {
  works: boolean
  library: CudaLibrary | null
  reason?: string
  missing?: Record<CudaLibrary, string[]>
}

/** Tries the build for CUDA 13, which falls back to that for CUDA 12 if it can't be loaded; then CUDA 12. */
async function probeEmbedded(context: ProbeContext, gpu: Gpu): Promise<ProbeResult> {
  const compiles = !compiledCapabilities.includes(gpu.computeCapability ?? 0)
  const first = await runEmbedded(context, gpu, null, compiles)
  const output = readOutput(first)
  if (output?.works === true) return { works: true, library: output.library }
  const missing = output?.missing?.['cuda-13'] ?? []
  const hasCuda12 = output?.missing?.['cuda-12'].length === 0
  if (missing.length > 0 && !hasCuda12) {
    return { works: false, problem: { kind: 'missing libraries', libraries: missing } }
  }
  const second = await runEmbedded(context, gpu, 'cuda-12', true)
  const other = readOutput(second)
  if (other?.works === true) return { works: true, library: 'cuda-12' }
  // With the runtime of CUDA 12, that of CUDA 13 is not what lacks.
  if (missing.length > 0) return { works: false, problem: describeFailure(second, other) }
  const alsoMissing = other?.missing?.['cuda-12'] ?? []
  const problem = describeFailure(first, output)
  return problem.kind === 'old driver' && alsoMissing.length > 0
    ? { works: false, problem: { kind: 'missing libraries', libraries: alsoMissing } }
    : { works: false, problem }
}

async function runEmbedded(
  { settings, rights, cudaFolders }: ProbeContext,
  gpu: Gpu,
  library: CudaLibrary | null,
  compiles: boolean,
): Promise<ProgramRun> {
  const { environment, probeProgram = defaultProbe, probeTimeoutMs: timeoutMs = probeTimeoutMs } = settings
  const run = [process.execPath, probeProgram, '--model', smallestModel] as const
  const [prefix, ...rest] = rights.prefix
  const command: Command = prefix === undefined ? run : [prefix, ...rest, ...run]
  const options = {
    environment: {
      ...pickEnvironment(environment),
      ...limitToGpus(gpu.vendor, [gpu.uuid]),
      CUDA_CACHE_PATH: await chooseCache(rights, 'cuda', environment['CUDA_CACHE_PATH']),
      LD_LIBRARY_PATH: buildLibraryPath(library, cudaFolders, environment),
    },
    timeoutMs: compiles ? timeoutMs * patience : timeoutMs,
    account: rights.prefix.length === 0 ? rights.account : null,
    cwd: '/',
  }
  const result = await runProgram(command, options)
  // The first run has to read hundreds of megabytes from the disk.
  return result.outcome === 'failed' && result.how === 'silent' ? runProgram(command, options) : result
}

function readOutput({ stdout }: ProgramRun): EmbeddedOutput | null {
  try {
    const value: unknown = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    return typeof value === 'object' && value !== null && 'works' in value ? (value as EmbeddedOutput) : null
  } catch {
    return null
  }
}

const oldDriver = /unsupported toolchain|no kernel image|driver version is insufficient|driver .*too old/i

function describeFailure(result: ProgramRun, output: EmbeddedOutput | null): EngineProblem {
  const complaint = /CUDA error: ([^\n]+)/.exec(result.stderr)?.[1]
  const text = `${complaint ?? ''}\n${output?.reason ?? ''}\n${result.stderr}`
  const detail = oldDriver.exec(text)
  if (detail !== null) return { kind: 'old driver', detail: complaint ?? detail[0] }
  if (output?.reason !== undefined) {
    return { kind: 'broken', detail: `its probe failed: ${output.reason.replace(/\.$/, '')}` }
  }
  const reason = result.outcome === 'failed' ? result.reason : `it printed "${lastLine(result.stdout)}"`
  return { kind: 'broken', detail: `probed on this GPU, ${reason}` }
}

/** Reads the list of devices that a llama-server prints. */
async function askLlamaServer(
  { settings, cudaFolders }: ProbeContext,
  command: Command,
  gpu: Gpu,
): Promise<ProbeResult> {
  const { environment, probeTimeoutMs: timeoutMs = probeTimeoutMs } = settings
  const answer = await runProgram([...command, '--list-devices'], {
    environment: {
      ...pickEnvironment(environment),
      ...limitToGpus(gpu.vendor, [gpu.uuid]),
      LD_LIBRARY_PATH: buildLibraryPath(null, cudaFolders, environment),
    },
    timeoutMs,
  })
  if (answer.outcome === 'failed') {
    // Older programs don't know the option.
    if (answer.how === 'exit' && /invalid argument|unknown option/i.test(answer.stderr)) {
      return { works: true, library: null }
    }
    return { works: false, problem: { kind: 'broken', detail: `asked for its devices, ${answer.reason}` } }
  }
  return parseDevices(answer.stdout + answer.stderr).length > 0
    ? { works: true, library: null }
    : unusable('other hardware than this GPU')
}

const multiply = `
import torch
if torch.version.cuda is None and torch.version.hip is None:
    print('cpu')
else:
    one = torch.ones(16, 16, device='cuda:0')
    print('works' if (one @ one).sum().item() == 4096 else 'wrong')`

/**
 * Has the PyTorch of a vLLM multiply two matrices. A command that isn't a script of Python can't be
 * asked.
 */
async function askVllm({ settings }: ProbeContext, engine: FoundEngine, gpu: Gpu): Promise<ProbeResult> {
  const { environment, probeTimeoutMs: timeoutMs = probeTimeoutMs } = settings
  const python = await findPython(engine.command!)
  if (python === null) return { works: true, library: null }
  const answer = await runProgram([python, '-c', multiply], {
    environment: { ...pickEnvironment(environment), ...limitToGpus(gpu.vendor, [gpu.uuid]) },
    timeoutMs: timeoutMs * patience,
  })
  if (answer.outcome === 'failed') {
    const detail = oldDriver.exec(answer.stderr)
    const problem: EngineProblem =
      detail === null
        ? { kind: 'broken', detail: `probed on this GPU, ${answer.reason}` }
        : { kind: 'old driver', detail: detail[0] }
    return { works: false, problem }
  }
  const said = lastLine(answer.stdout)
  if (said === 'works') return { works: true, library: null }
  if (said === 'cpu') return unusable('the CPU')
  return { works: false, problem: { kind: 'broken', detail: `probed on this GPU, it printed "${said}"` } }
}

/** Names what the result of a probe depends on: the build of the engine, the driver and the kind of GPU. */
export function nameProbe(engine: FoundEngine, gpu: Gpu, cudaFolders: readonly string[]): string {
  const { name, version, command } = engine
  return JSON.stringify([
    name,
    version,
    command,
    gpu.name,
    gpu.computeCapability,
    gpu.driverVersion,
    name === 'vllm' ? [] : cudaFolders,
  ])
}

/** The folder of CUDA's libraries in an installation of `cuda` */
export function cudaFolder(installation: string): string {
  return join(installation, 'lib')
}
