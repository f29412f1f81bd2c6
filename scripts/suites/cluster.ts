import { execFile } from 'node:child_process'
import { chmod, copyFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { installLeaderWorkerSet } from './leader-worker-set.ts'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { loadVllmImage } from './vllm-image.ts'

const nodes = 5
const nodeTests = resolve(import.meta.dirname, '../../server/test/kubernetes/nodes')
/** The oldest minor version of Kubernetes whose kubectl reads LeaderWorkerSet's manifests */
const oldestForLeaderWorkerSet = 27
const engineImage = 'berth.local/llama-server:sid'

/**
 * Makes a cluster with the tool TEST_CLUSTER and removes it at the end. Returns the environment of its users;
 * empty if KUBECONFIG already names a cluster. See docs/testing.md.
 */
export async function openCluster(cleanUps: (() => void | Promise<void>)[]): Promise<Record<string, string>> {
  const tool = process.env['TEST_CLUSTER']
  if (process.env['KUBECONFIG'] !== undefined) return {}
  if (tool === undefined) {
    throw new Error(
      'Set KUBECONFIG to a cluster, or TEST_CLUSTER to a tool that makes one: see docs/testing.md.',
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
  if (archive !== undefined) await ask('image', 'load', archive)
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
  }
}
