import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'

const run = promisify(execFile)
const version = 'v0.8.0'

/** LeaderWorkerSet's own manifests with one replica of our image, without the CPU that it doesn't need. */
const overlay = (manifests: string) => `
resources: ["${manifests}"]
images:
  - { name: us-central1-docker.pkg.dev/k8s-staging-images/lws/lws, newName: berth.local/lws, newTag: ${version} }
replicas: [{ name: lws-controller-manager, count: 1 }]
patches:
  - target: { kind: Deployment, name: lws-controller-manager }
    patch: '[{ "op": "remove", "path": "/spec/template/spec/containers/0/resources" }]'
`

/** Builds LeaderWorkerSet with Go and installs it on the cluster of `ask`. Returns false without Go. */
export async function installLeaderWorkerSet(ask: (...args: string[]) => Promise<string>): Promise<boolean> {
  const found = await run('go', ['mod', 'download', '-json', `sigs.k8s.io/lws@${version}`]).catch(
    (error: Error) => {
      if ('code' in error && error.code === 'ENOENT') return null
      throw error
    },
  )
  if (found === null) return false
  const source = (JSON.parse(found.stdout) as { Dir: string }).Dir
  const folder = findCacheFolder(`lws-${version}`)
  const program = join(folder, 'manager')
  if (!existsSync(program)) {
    const options = ['-C', source, '-trimpath', '-o', program]
    await runCommand('go', ['build', ...options, './cmd'], { CGO_ENABLED: '0' })
  }
  const config = JSON.stringify({ Entrypoint: ['/manager'], User: '65532:65532' })
  await ask('image', 'load', await ask('image', 'make', folder, `berth.local/lws:${version}`, config))
  // Kustomize takes other folders only by relative paths.
  const manifests = await realpath(await mkdtemp(join(tmpdir(), 'berth-lws-')))
  await writeFile(
    join(manifests, 'kustomization.yaml'),
    overlay(relative(manifests, join(source, 'config/default'))),
  )
  await ask('kubectl', 'apply', '--server-side', '-k', manifests)
  await rm(manifests, { recursive: true })
  const deployment = 'deployment/lws-controller-manager'
  await ask('kubectl', '-n', 'lws-system', 'rollout', 'status', deployment, '--timeout=300s')
  return true
}
