import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'

const run = promisify(execFile)

const sources = {
  helm: { source: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.2' },
  kubeconform: { source: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' },
} as const

/** The path of the program, which Go builds once; null without Go. */
export async function findProgram(name: keyof typeof sources): Promise<string | null> {
  const { source, version } = sources[name]
  const folder = findCacheFolder(`${name}-${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  if ((await run('go', ['version']).catch(() => null)) === null) return null
  await runCommand('go', ['install', `${source}@${version}`], { GOBIN: folder, GOFLAGS: '-buildvcs=false' })
  return program
}

const schemas = 'kubernetes-validate==1.37.0'
/** The version of Kubernetes whose schemas these are */
export const schemaVersion = '1.37.0'

/** The folder of the JSON schemas of Kubernetes' objects, from a Python package. */
export async function findSchemas(): Promise<string> {
  const folder = findCacheFolder(schemas.replace('==', '-'))
  const found = join(folder, 'schemas')
  if (existsSync(found)) return found
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--root-user-action', 'ignore']
  await runCommand('python3', [...install, '--target', folder, schemas])
  const packaged = join(folder, `kubernetes_validate/kubernetes-json-schema/v${schemaVersion}-local-strict`)
  for (const file of await readdir(packaged)) {
    // They refer to each other by addresses of a server.
    const text = (await readFile(join(packaged, file), 'utf8')).replaceAll(
      '"/api/_definitions',
      '"_definitions',
    )
    const { $id: _, ...schema } = JSON.parse(text) as Record<string, unknown>
    await writeFile(join(packaged, file), JSON.stringify(schema))
  }
  await rename(packaged, found)
  return found
}
