import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { canReach } from '../../../../base/account.ts'
import type { Account } from '../../../../base/account.ts'
import { findProgram } from '../find-program.ts'
import { lastLine, runProgram } from '../run-program.ts'
import { readPipSettings, toUvEnvironment } from './pip-settings.ts'

type Environment = Record<string, string | undefined>

/** A failure to install, with the remedy, as sentences. */
export class InstallationError extends Error {}

/** Installs packages of Python into a folder. */
export interface PythonEnvironment {
  /** Installs requirements, with further options of `pip install`. */
  install(requirements: readonly string[], options?: readonly string[]): Promise<void>
  python: string
}

interface Tools {
  environment: Environment
  onProgress: (line: string) => void
  /** What the packages are for, such as `vLLM` */
  title: string
  /** Runs what is installed, and must be able to read Python; null for the server's own */
  account: Account | null
  /** Where `uv` may put a Python for that account */
  pythonFolder: string
}

/** Python's oldest version for the packages */
const oldestPython = [3, 10] as const
/** The first version that the packages don't support */
const newestPython = [3, 14] as const
const shortMs = 120_000

/** How Python's packages are installed on this host: with `uv` if it is there, else with Python's own pip. */
export interface PythonTools extends Tools {
  kind: 'uv' | 'pip'
  program: string
  /** The Python that uv takes; null for its own choice */
  python: string | null
}

/** Finds the tools. Throws an InstallationError if this host has none, or only an old Python. */
export async function findPythonTools(tools: Tools): Promise<PythonTools> {
  const path = tools.environment['PATH'] ?? ''
  const { account } = tools
  const python = await findProgram(
    'python3',
    path,
    async (each) => account === null || canReach(each, account).catch(() => false),
  )
  const uv = await findProgram('uv', path)
  if (uv !== null) return { ...(await openUv(tools, python)), kind: 'uv', program: uv }
  const unreachable = python === null ? await findProgram('python3', path) : null
  if (unreachable !== null) {
    throw new InstallationError(
      `Engines run as the user id ${account!.uid}, which can't read ${unreachable}. Install Python 3.10 or newer for all users (on Debian and Ubuntu: apt install python3-venv), or uv, then run the command again.`,
    )
  }
  if (python === null) {
    throw new InstallationError(
      `${tools.title} needs Python, and this host has none. Install Python 3.10 or newer with venv (on Debian and Ubuntu: apt install python3-venv) or uv, then run the command again.`,
    )
  }
  const code = `${versionCode}; import venv, ensurepip`
  const answer = await runProgram([python, '-c', code], {
    environment: tools.environment,
    timeoutMs: shortMs,
  })
  const version = answer.stdout.trim()
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (!/^\d+\.\d+/.test(version)) {
    const reason = answer.outcome === 'failed' ? answer.reason : `it printed "${lastLine(version)}"`
    throw new InstallationError(
      `Python can't be used: asked for its version, ${reason}. Repair ${python}, or install uv.`,
    )
  }
  if (major < oldestPython[0] || (major === oldestPython[0] && minor < oldestPython[1])) {
    throw new InstallationError(
      `Python ${version} is too old: ${tools.title} needs Python 3.10 or newer. Install it, or uv, which brings its own, then run the command again.`,
    )
  }
  if (answer.outcome === 'failed') {
    throw new InstallationError(
      `Python ${version} has no venv. Install it (on Debian and Ubuntu: apt install python3-venv), then run the command again.`,
    )
  }
  return { ...tools, kind: 'pip', program: python, python: null }
}

const versionCode = 'import sys; print(*sys.version_info[:3], sep=".")'

/** The host's Python serves uv if the account of engines can read it; otherwise uv downloads one. */
async function openUv(
  tools: Tools,
  found: string | null,
): Promise<Pick<PythonTools, 'environment' | 'python'> & Tools> {
  const environment = toUvEnvironment(await readPipSettings(tools.environment), tools.environment)
  if (tools.account === null) return { ...tools, environment, python: null }
  const told =
    found === null ? null : await runProgram([found, '-c', versionCode], { environment, timeoutMs: shortMs })
  const [major = 0, minor = 0] = (told?.stdout ?? '').split('.').map(Number)
  if (major === oldestPython[0] && minor >= oldestPython[1] && minor < newestPython[1]) {
    return { ...tools, environment, python: found }
  }
  // By itself, uv would put it into the home of root, which others can't read.
  const managed = { UV_PYTHON_INSTALL_DIR: tools.pythonFolder, UV_PYTHON_PREFERENCE: 'only-managed' }
  return { ...tools, environment: { ...environment, ...managed }, python: null }
}

/** The version of a package that an installation would get now. Throws an InstallationError. */
export async function resolveVersion(
  tools: PythonTools,
  requirement: string,
  folder: string,
): Promise<string> {
  const name = /^[\w.-]+/.exec(requirement)![0]
  tools.onProgress(`Looking for the newest ${name}.`)
  const environment = await createPythonEnvironment(tools, folder)
  try {
    const command =
      tools.kind === 'uv'
        ? ['pip', 'install', '--dry-run', '--no-deps', '--python', environment.python, requirement]
        : ['-m', 'pip', 'install', '--dry-run', '--no-deps', '--ignore-installed', requirement]
    const program = tools.kind === 'uv' ? tools.program : environment.python
    const output = await runInstaller({ ...tools, onProgress: () => {} }, [program, ...command])
    const plain = name.replaceAll(/[-_.]+/g, '[-_.]+')
    const version =
      tools.kind === 'uv'
        ? new RegExp(`^\\s*\\+ ${plain}==(\\S+)`, 'im').exec(output)?.[1]
        : new RegExp(`Would install .*?\\b${plain}-(\\d\\S*)`, 'i').exec(output)?.[1]
    if (version === undefined)
      throw new InstallationError(`The index has no version of ${name} for this host.`)
    return version
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes a virtual environment. Throws an InstallationError. */
export async function createPythonEnvironment(
  tools: PythonTools,
  folder: string,
): Promise<PythonEnvironment> {
  const python = join(folder, 'bin/python')
  const create: [string, ...string[]] =
    tools.kind === 'uv'
      ? [
          tools.program,
          'venv',
          '--quiet',
          '--allow-existing',
          '--python',
          tools.python ?? '>=3.10,<3.14',
          folder,
        ]
      : [tools.program, '-m', 'venv', folder]
  await runInstaller({ ...tools, onProgress: () => {} }, create)
  return {
    python,
    async install(requirements, options = []) {
      const command: [string, ...string[]] =
        tools.kind === 'uv'
          ? [tools.program, 'pip', 'install', '--python', python, ...options, ...requirements]
          : [
              python,
              '-m',
              'pip',
              'install',
              '--no-input',
              '--progress-bar',
              'off',
              ...options,
              ...requirements,
            ]
      await runInstaller(tools, command)
    },
  }
}

/** Runs a step to its end. Resolves to its output. Ends with this process, which has marked the folder. */
async function runInstaller(
  { environment, onProgress, title }: Tools,
  [program, ...args]: [string, ...string[]],
): Promise<string> {
  const setpriv =
    process.platform === 'linux' ? await findProgram('setpriv', environment['PATH'] ?? '') : null
  const command = [...(setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL', '--']), program, ...args]
  const child = spawn(command[0]!, command.slice(1), {
    env: { PYTHONUNBUFFERED: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const follow = (input: NodeJS.ReadableStream) =>
    createInterface({ input }).on('line', (line) => {
      lines.push(line)
      if (line.trim() !== '') onProgress(line)
    })
  follow(child.stdout)
  follow(child.stderr)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  const output = lines.join('\n')
  if (code === 0) return output
  throw new InstallationError(explainFailure(title, output, signal))
}

/** What a failed step printed, and what it means for people */
const causes: readonly { pattern: RegExp; explain: (title: string, found: string) => string }[] = [
  {
    pattern: /No space left on device|ENOSPC|os error 28/i,
    explain: () => 'The disk of DATA_DIR is full. Free some space, then run the command again.',
  },
  {
    pattern:
      /is not a supported wheel on this platform|has no wheels with a matching|no wheels? .*(platform|Python)/i,
    explain: (title) =>
      `The index has ${title} for other machines only: another processor, system or Python. Try another version, as in ==VERSION.`,
  },
  {
    // uv prints the address.
    pattern: /https?:\/\/\S*\/python-build-standalone\/[^)\s]*/i,
    explain: (_title, found) =>
      `uv needs a Python that engines can read, and could not download ${found}. Install Python 3.10 or newer for all users (on Debian and Ubuntu: apt install python3-venv), then run the command again.`,
  },
  {
    pattern:
      /NewConnectionError|ConnectTimeout|Could not fetch URL|Failed to establish|Name or service not known|name resolution|error sending request|Failed to fetch|Connection refused|ProxyError|CERTIFICATE_VERIFY_FAILED|Read timed out/i,
    explain: (_title, found) =>
      `The package index can't be reached (${found}). Check the network, pip's settings (PIP_INDEX_URL) and HTTPS_PROXY, then run the command again.`,
  },
  {
    pattern: /has inconsistent version: [^\n]+/i,
    explain: (title, found) => `The index's ${title} ${found}. Try another version, as in ==VERSION.`,
  },
  {
    pattern: /No matching distribution found for ([^\n]+)|no versions? of ([^\n]+)/i,
    explain: (_title, found) =>
      `The index has nothing for this host: ${found}. Check the version, and which Pythons and processors it is made for.`,
  },
]

function explainFailure(title: string, output: string, signal: NodeJS.Signals | null): string {
  for (const { pattern, explain } of causes) {
    const found = pattern.exec(output)
    if (found !== null) return explain(title, lastLine(found[0]))
  }
  const last = lastLine(output)
  const reason = signal === null ? last || 'it gave no reason' : `it was killed by ${signal}`
  return `${title} could not be installed: ${reason}.`
}
