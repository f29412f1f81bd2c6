// Keeps engine builds that no host needs out of `npm ci`. Run it after `npm install`, which brings them back.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const file = join(import.meta.dirname, '../package-lock.json')

interface Lockfile {
  packages: Record<string, { cpu?: string[] }>
}

/** Builds for other processors name x64 as well, because they can be cross-compiled there. */
const processors = { 'linux-arm64': 'arm64', 'linux-armv7l': 'arm' }
/** 71 MB. NVIDIA hosts use CUDA; docs/operations.md says how others add it. */
const omitted = ['linux-x64-vulkan']

/** Returns the text of a lockfile without the builds that the host's processor or GPU can't use. */
export function trimLockfile(text: string): string {
  const lockfile = JSON.parse(text) as Lockfile
  for (const [build, processor] of Object.entries(processors)) {
    const entry = lockfile.packages[`node_modules/@node-llama-cpp/${build}`]
    if (entry !== undefined) entry.cpu = [processor]
  }
  for (const build of omitted) delete lockfile.packages[`node_modules/@node-llama-cpp/${build}`]
  return `${JSON.stringify(lockfile, null, 2)}\n`
}

if (import.meta.main) await writeFile(file, trimLockfile(await readFile(file, 'utf8')))
