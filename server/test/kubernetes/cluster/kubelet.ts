import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, request } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { V1Pod } from '@kubernetes/client-node'
import { listen } from '../../support/listen.ts'
import type { TestCluster } from './cluster.ts'
import { nodeReady } from './cluster.ts'

/** Decides what the kubelet does with a pod: run it, ignore it, or report the returned status. */
export type PodScript = (pod: V1Pod) => Record<string, unknown> | 'run' | 'ignore'

/**
 * Plays the kubelets of the test's nodes. Runs each scheduled pod as a process of Berth's own engine on
 * loopback, with the key from the pod's Secret and the name and context from its arguments. Reports the pod's
 * status, serves its log, and stops the process when the pod is deleted.
 */
export interface Kubelet {
  port: number
  nodes: string[]
  /** Sets the script for new pods; running pods keep running */
  script(next: PodScript): void
  /** The log of pods that the script does not run */
  logLines: string[]
  /** Appends a line to the log of a deployment's engine. */
  appendLog(engineId: string, line: string): void
  /** Nodes without heartbeat that do not stop their pods */
  silentNodes: Set<string>
  /** For `KUBERNETES_ENGINE_ADDRESS`: forwards to the Service's endpoints, as kube-proxy does */
  serviceUrl: string
  close(): Promise<void>
}

const program = fileURLToPath(new URL('../../../../engine/src/main.ts', import.meta.url))
const model = fileURLToPath(new URL('../../../../catalog/weights/berth-tiny.gguf', import.meta.url))

interface Container {
  child: ChildProcess
  folder: string
  ip: string
  lines: string[]
  ready: boolean
}

export async function startKubelet(cluster: TestCluster): Promise<Kubelet> {
  const { namespace } = cluster
  const { core } = cluster.admin
  const containers = new Map<string, Container>()
  const scripted = new Map<string, string>()
  const logs = createServer(await makeCertificate(), (incoming, response) => {
    const [, , , pod = ''] = new URL(incoming.url ?? '/', 'https://kubelet').pathname.split('/')
    const lines = containers.get(pod)?.lines ?? kubelet.logLines.map(stamp)
    response.writeHead(200, { 'content-type': 'text/plain' })
    for (const line of lines) response.write(`${line}\n`)
    if (!incoming.url?.includes('follow=true')) return response.end()
    let sent = lines.length
    const timer = setInterval(() => {
      for (const line of lines.slice(sent)) response.write(`${line}\n`)
      sent = lines.length
    }, 50)
    response.on('close', () => clearInterval(timer))
  })
  const proxy = createHttpServer((incoming, response) => {
    const [, service = '', ...path] = (incoming.url ?? '').split('/')
    forward(service, path.join('/')).catch(() => response.writeHead(503).end())

    async function forward(name: string, rest: string): Promise<void> {
      const endpoints = await core.readNamespacedEndpoints({ name, namespace })
      const ip = endpoints.subsets?.flatMap(({ addresses }) => addresses ?? [])[0]?.ip
      const container = [...containers.values()].find((each) => each.ip === ip)
      if (container === undefined) throw new Error('The Service has no endpoint.')
      const { port } = JSON.parse(await readFile(join(container.folder, 'engine.json'), 'utf8'))
      const { method, headers } = incoming
      const upstream = request({ host: '127.0.0.1', port, path: `/${rest}`, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      upstream.on('error', () => response.destroy())
      response.on('close', () => upstream.destroy())
      incoming.pipe(upstream)
    }
  })
  const port = await listen(logs)
  const proxyPort = await listen(proxy)
  let script: PodScript = () => 'run'
  const closing = new AbortController()
  let lastHeartbeatAt = 0

  const kubelet: Kubelet = {
    port,
    nodes: [],
    logLines: [],
    silentNodes: new Set(),
    serviceUrl: `http://127.0.0.1:${proxyPort}/{service}`,
    script: (next) => {
      script = next
    },
    appendLog(engineId, line) {
      for (const [name, { lines }] of containers) {
        if (name.includes(engineId)) lines.push(stamp(line))
      }
    },
    async close() {
      closing.abort()
      await syncLoop
      for (const name of containers.keys()) await stopContainer(name)
      for (const server of [logs, proxy]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }

  async function syncPods(): Promise<void> {
    if (Date.now() - lastHeartbeatAt > 5000) {
      lastHeartbeatAt = Date.now()
      for (const name of kubelet.nodes) {
        if (!kubelet.silentNodes.has(name)) await cluster.patchNode(name, { conditions: [nodeReady()] })
      }
    }
    const pods = (await core.listNamespacedPod({ namespace })).items
    const existing = new Set(pods.map(({ metadata }) => metadata?.name))
    for (const name of containers.keys()) if (!existing.has(name)) await stopContainer(name)
    for (const pod of pods) {
      const node = pod.spec?.nodeName
      if (node === undefined || kubelet.silentNodes.has(node)) continue
      await syncPod(pod).catch(ignoreMissing)
    }
  }

  async function syncPod(pod: V1Pod): Promise<void> {
    const name = pod.metadata?.name ?? ''
    if (pod.metadata?.deletionTimestamp !== undefined) {
      await stopContainer(name)
      await core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 })
      return
    }
    if (pod.status?.phase === 'Failed') return stopContainer(name)
    const running = containers.get(name)
    const action = running === undefined ? script(pod) : 'run'
    if (action === 'ignore') return
    if (action !== 'run') {
      const text = JSON.stringify(action)
      if (scripted.get(name) === text) return
      scripted.set(name, text)
      return cluster.patchPod(name, action)
    }
    if (running === undefined) {
      const container = await startContainer(pod)
      containers.set(name, container)
      return cluster.patchPod(name, runningStatus(pod, container.ip, false))
    }
    if (running.ready) return
    const state = await readFile(join(running.folder, 'engine.json'), 'utf8').catch(() => '{}')
    running.ready = JSON.parse(state).phase === 'ready'
    if (running.ready) await cluster.patchPod(name, runningStatus(pod, running.ip, true))
  }

  async function startContainer(pod: V1Pod): Promise<Container> {
    const [container] = pod.spec?.containers ?? []
    const args = container?.args ?? []
    const option = (name: string) => args[args.indexOf(name) + 1] ?? ''
    const keyName = container?.env?.find(({ name }) => name === 'LLAMA_API_KEY')?.valueFrom?.secretKeyRef
    const secret = await core.readNamespacedSecret({ name: keyName?.name ?? '', namespace })
    const key = Buffer.from(secret.data?.[keyName?.key ?? ''] ?? '', 'base64').toString()
    const folder = await mkdtemp(join(tmpdir(), 'berth-kubelet-'))
    const nonce = randomBytes(16).toString('hex')
    await writeFile(join(folder, 'launch.json'), JSON.stringify({ nonce }))
    const parallel = Number(option('--parallel'))
    const settings = {
      'state-dir': folder,
      nonce,
      model,
      alias: option('--alias'),
      type: args.includes('--embeddings') ? 'embedding' : 'chat',
      context: String(Number(option('--ctx-size')) / parallel),
      parallel: String(parallel),
      'gpu-layers': '0',
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    const child = spawn(process.execPath, [program, ...flags], {
      env: { PATH: process.env['PATH'], HOME: folder, NODE_LLAMA_CPP_GPU: 'false', BERTH_ENGINE_KEY: key },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n').filter((each) => each !== '')) {
          lines.push(stamp(line))
        }
      })
    }
    const ip = `10.244.${Math.floor(Math.random() * 250)}.${1 + Math.floor(Math.random() * 250)}`
    return { child, folder, ip, lines, ready: false }
  }

  async function stopContainer(name: string): Promise<void> {
    const container = containers.get(name)
    if (container === undefined) return
    containers.delete(name)
    const { child, folder } = container
    if (child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
    }
    await rm(folder, { recursive: true, force: true })
  }

  const syncLoop = (async () => {
    while (!closing.signal.aborted) {
      await syncPods().catch((error: unknown) => {
        if (!closing.signal.aborted) process.stderr.write(`kubelet: ${String(error)}\n`)
      })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  return kubelet
}

/** Prefixes a line with its time in nanoseconds, as a kubelet does. */
function stamp(line: string): string {
  return `${new Date().toISOString().replace('Z', '000000Z')} ${line}`
}

/** The status that a kubelet reports for a pod with this container status. */
export function statusOf(pod: V1Pod, container: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const [first] = pod.spec?.containers ?? []
  return {
    phase: 'Pending',
    containerStatuses: [
      {
        name: first?.name,
        image: first?.image,
        imageID: '',
        ready: false,
        started: false,
        restartCount: 0,
        ...container,
      },
    ],
    ...more,
  }
}

function runningStatus(pod: V1Pod, podIP: string, ready: boolean) {
  const at = new Date().toISOString()
  const status = ready ? 'True' : 'False'
  const conditions = [
    { type: 'PodScheduled', status: 'True', lastTransitionTime: at },
    { type: 'Ready', status, lastTransitionTime: at },
    { type: 'ContainersReady', status, lastTransitionTime: at },
  ]
  return statusOf(
    pod,
    { ready, started: ready, state: { running: { startedAt: at } } },
    { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions },
  )
}

function ignoreMissing(error: unknown): void {
  if ((error as { code?: number }).code !== 404 && (error as { code?: number }).code !== 409) throw error
}

async function makeCertificate(): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=kubelet']
  await promisify(execFile)('openssl', [...options, '-keyout', key, '-out', cert])
  const pair = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  await rm(folder, { recursive: true })
  return pair
}
