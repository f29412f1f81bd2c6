import { open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { canReach, describeUnreachable } from '../../../../base/account.ts'
import type { Account } from '../../../../base/account.ts'
import { findProgram } from '../find-program.ts'
import { runProgram } from '../run-program.ts'
import type { ProgramRun } from '../run-program.ts'
import type { Command, LocalRuntimeSettings } from '../settings.ts'
import { pickEnvironment } from '../engine/engine-environment.ts'
import { compareVersionTexts, listInstallations } from './installations.ts'
import type { EngineOrigin, EngineProblem, FoundEngine } from './types.ts'

/** A kind of engine that is a program of this host. */
interface ProgramKind {
  name: 'llama-server' | 'vllm'
  title: string
  /** The program in PATH and in an installation's `bin` */
  program: string
  /** What `engines install` calls it */
  packageName: 'llama.cpp' | 'vllm'
  setting: 'llamaServerCommand' | 'vllmCommand'
  askVersion: (command: Command, ask: Ask) => Promise<Told>
}

type Ask = (command: Command) => Promise<ProgramRun>

/** A program's version as a text, or why it printed none. */
type Told = { text: string } | { failure: ProgramRun & { outcome: 'failed' } }

/** How long a program may take to tell its version */
export const versionTimeoutMs = 10_000

const kinds: readonly ProgramKind[] = [
  {
    name: 'llama-server',
    title: 'llama-server',
    program: 'llama-server',
    packageName: 'llama.cpp',
    setting: 'llamaServerCommand',
    async askVersion(command, ask) {
      const answer = await ask([...command, '--version'])
      if (answer.outcome === 'failed') return { failure: answer }
      const text = `${answer.stdout}\n${answer.stderr}`
      return { text: /\(build (\d+)/.exec(text)?.[1] ?? /^version: (\d+) /m.exec(text)?.[1] ?? '' }
    },
  },
  {
    name: 'vllm',
    title: 'vLLM',
    program: 'vllm',
    packageName: 'vllm',
    setting: 'vllmCommand',
    async askVersion(command, ask) {
      const python = await findPython(command)
      // `vllm --version` would load all of vLLM.
      const code = "import importlib.metadata; print(importlib.metadata.version('vllm'))"
      const answer = await ask(python === null ? [...command, '--version'] : [python, '-c', code])
      if (answer.outcome === 'failed') return { failure: answer }
      return { text: /^\d+\.\d+\.\d+\S*/m.exec(answer.stdout.trim())?.[0] ?? '' }
    },
  },
]

type Settings = Pick<
  LocalRuntimeSettings,
  'dataDirectory' | 'environment' | 'llamaServerCommand' | 'vllmCommand' | 'versionTimeoutMs'
>

/** Berth's own engine, which needs no program. */
export const embeddedEngine: FoundEngine = {
  name: 'embedded',
  title: "Berth's engine",
  origin: 'bundled',
  command: null,
  version: null,
  usesCpu: true,
  problem: null,
  installation: null,
}

/**
 * Finds the engines of this host: Berth's own, the programs of the settings, what Berth has installed (the
 * newest version first) and programs in PATH, which `account` must be able to run if it isn't null.
 */
export async function findEngines(settings: Settings, account: Account | null): Promise<FoundEngine[]> {
  const installed = await listInstallations(settings.dataDirectory)
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const own = settings[kind.setting] ?? null
      const installations = installed.filter(({ name }) => name === kind.packageName)
      const inPath = await findProgram(kind.program, settings.environment['PATH'] ?? '')
      const engines = await Promise.all([
        ...(own === null ? [] : [examine(settings, kind, 'setting', own, null)]),
        ...installations
          .toSorted((one, other) => compareVersionTexts(other.version, one.version))
          .map(({ folder }) => examineInstallation(settings, kind.packageName, folder)),
        ...(inPath === null ? [] : [examine(settings, kind, 'path', [inPath], null)]),
      ])
      return Promise.all(engines.map((engine) => checkReach(engine, account)))
    }),
  )
  return [embeddedEngine, ...found.flat()]
}

/** Asks the program of an installation for its version. */
export async function examineInstallation(
  settings: Settings,
  packageName: ProgramKind['packageName'],
  folder: string,
): Promise<FoundEngine> {
  const kind = kinds.find((each) => each.packageName === packageName)!
  return examine(settings, kind, 'installed', [join(folder, 'bin', kind.program)], folder)
}

/** Asks a program for its version. */
async function examine(
  { environment, versionTimeoutMs: timeoutMs = versionTimeoutMs }: Settings,
  { name, title, askVersion }: ProgramKind,
  origin: EngineOrigin,
  command: Command,
  installation: string | null,
): Promise<FoundEngine> {
  const told = await askVersion(command, (asked) =>
    runProgram(asked, { environment: pickEnvironment(environment), timeoutMs }),
  )
  const text = 'text' in told ? told.text : ''
  return {
    name,
    title,
    origin,
    command,
    version: /^\d+(\.\d+)*/.exec(text)?.[0] ?? null,
    // What the operator set may be a program that no one can ask.
    usesCpu: name !== 'vllm' || origin === 'setting' || text.includes('+cpu'),
    problem: findProblem(origin, told),
    installation,
  }
}

/** The operator's command may be a script that has no version. It fails at the start of an engine. */
function findProblem(origin: EngineOrigin, told: Told): EngineProblem | null {
  if ('failure' in told) {
    const { how, reason } = told.failure
    const isTolerated = origin === 'setting' && (how === 'exit' || how === 'missing')
    return isTolerated ? null : { kind: 'broken', detail: `asked for its version, ${reason}` }
  }
  return told.text === '' && origin !== 'setting'
    ? { kind: 'broken', detail: 'asked for its version, it told none' }
    : null
}

/** A program that the account of engines can't run. One in PATH must not make engines run as root. */
async function checkReach(engine: FoundEngine, account: Account | null): Promise<FoundEngine> {
  const [program] = engine.command ?? []
  if (account === null || engine.origin === 'setting' || program === undefined) return engine
  const { installation } = engine
  const python = installation === null ? await findPython([program]) : join(installation, 'bin/python')
  const reaches = await Promise.all(
    [program, ...(python === null ? [] : [python])].map((path) => canReach(path, account).catch(() => false)),
  )
  if (reaches.every(Boolean)) return engine
  return {
    ...engine,
    problem: { kind: 'broken', detail: describeUnreachable(program, account) },
  }
}

/** The Python of a script; null if the program isn't one */
export async function findPython([program]: Command): Promise<string | null> {
  if (!program.includes(sep)) return null
  const start = await readStart(program).catch(() => '')
  const named = /^#!(\S*python\S*)/.exec(start)?.[1]
  // Paths that are too long for the kernel stand on the second line, as pip writes them.
  const executed = /^#!\/bin\/sh\n'''exec' "?([^"\n]*python[^"\s]*)"? /.exec(start)?.[1]
  return named ?? executed ?? null
}

async function readStart(path: string): Promise<string> {
  const file = await open(await realpath(path), 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
