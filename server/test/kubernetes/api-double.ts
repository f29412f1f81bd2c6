import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen } from '../support/listen.ts'

type Json = Record<string, any>

/** A test double for the part of a Kubernetes API server and its controllers that the runtime uses. */
export interface KubernetesApi {
  /** Path of a kubeconfig for this server */
  kubeconfig: string
  /** Every request so far, as `GET /apis/apps/v1/…` */
  requests: string[]
  /** All objects of a kind, by its plural */
  list(plural: string): Json[]
  /** Sets the status of every pod and of its Deployment. */
  setPods(status: Json): void
  addPod(pod: Json): void
  /** Sets when every Deployment last became available. */
  setAvailableSince(at: Date): void
  /** Keeps deleted pods in the terminating state; false removes them now */
  holdsTerminatingPods: boolean
  /** The log of every container */
  log: string
  /** Tells watches what changed since the last request or call */
  publish(): void
  /** Ends all watches with a 410, and forgets the changes so far, as a compaction of etcd does */
  expireWatches(): void
  /** Answers all further requests with this status; null restores normal answers */
  failWith(status: number | null): void
  close(): Promise<void>
}

interface Change {
  version: number
  plural: string
  /** As watches send it */
  line: string
}

interface Watch {
  plural: string
  response: ServerResponse
}

const kinds: Record<string, [kind: string, plural: string][]> = {
  v1: [
    ['Pod', 'pods'],
    ['Service', 'services'],
    ['Secret', 'secrets'],
    ['Event', 'events'],
  ],
  'apps/v1': [['Deployment', 'deployments']],
  'networking.k8s.io/v1': [['NetworkPolicy', 'networkpolicies']],
}

export const at = new Date().toISOString()
export const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at }
export const ready = { phase: 'Running', conditions: [scheduled, { type: 'Ready', status: 'True' }] }

export async function startKubernetesApi(): Promise<KubernetesApi> {
  const objects = new Map<string, Json>()
  const requests: string[] = []
  let failure: number | null = null
  const changes: Change[] = []
  const watches = new Set<Watch>()
  const published = new Map<string, string>()
  let version = 1
  let oldestVersion = 0
  /**
   * The objects that may differ from what is published; null for any, because a test holds objects, which it
   * may change at any time
   */
  let touched: Set<string> | null = new Set()
  const keys = new Map<string, Set<string>>()
  const list = (plural: string) => [...(keys.get(plural) ?? [])].map((key) => objects.get(key)!)

  function set(key: string, object: Json): void {
    objects.set(key, object)
    const plural = key.split('/')[0]!
    keys.set(plural, (keys.get(plural) ?? new Set()).add(key))
    touched?.add(key)
  }

  function unset(key: string): void {
    objects.delete(key)
    keys.get(key.split('/')[0]!)?.delete(key)
    touched?.add(key)
  }

  function apply(plural: string, name: string, body: Json): Json {
    const old = objects.get(`${plural}/${name}`)
    const metadata = {
      uid: old?.metadata.uid ?? randomUUID(),
      creationTimestamp: old?.metadata.creationTimestamp ?? new Date().toISOString(),
      generation: (old?.metadata.generation ?? 0) + 1,
      ...body.metadata,
    }
    const object = { ...old, ...body, metadata, spec: { ...old?.spec, ...body.spec } }
    set(`${plural}/${name}`, object)
    if (plural === 'deployments') control(name, object)
    return object
  }

  /** Plays the Deployment controller. */
  function control(name: string, { spec, metadata }: Json): void {
    const key = `pods/${name}-1`
    if (spec.replicas === 0) {
      Object.assign(objects.get(key)?.['metadata'] ?? {}, { deletionTimestamp: new Date().toISOString() })
      touched?.add(key)
    } else if (!objects.has(key)) {
      set(key, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `${name}-1`,
          labels: spec.template.metadata.labels,
          creationTimestamp: new Date().toISOString(),
          ownerReferences: [{ uid: metadata.uid }],
        },
        spec: { containers: spec.template.spec.containers },
        status: { phase: 'Pending' },
      })
    }
  }

  function remove(plural: string, name: string): boolean {
    const object = objects.get(`${plural}/${name}`)
    if (object === undefined) return false
    unset(`${plural}/${name}`)
    for (const [key, { metadata }] of objects) {
      if (metadata.ownerReferences?.some(({ uid }: Json) => uid === object.metadata.uid)) unset(key)
    }
    return true
  }

  function removeTerminatingPods(): void {
    for (const { metadata } of list('pods')) {
      if (metadata.deletionTimestamp !== undefined) unset(`pods/${metadata.name}`)
    }
  }

  function publish(): void {
    for (const key of touched ?? new Set([...published.keys(), ...objects.keys()])) {
      const [before, current] = [published.get(key), objects.get(key)]
      const after = current === undefined ? undefined : JSON.stringify(current)
      if (before === after) continue
      version += 1
      const object = JSON.parse(after ?? before!)
      object.metadata = { ...object.metadata, namespace: 'berth', resourceVersion: String(version) }
      const type = before === undefined ? 'ADDED' : after === undefined ? 'DELETED' : 'MODIFIED'
      const change = { version, plural: key.split('/')[0]!, line: `${JSON.stringify({ type, object })}\n` }
      changes.push(change)
      for (const watch of watches) if (watch.plural === change.plural) watch.response.write(change.line)
      if (after === undefined) published.delete(key)
      else published.set(key, after)
    }
    touched?.clear()
  }

  function openWatch(plural: string, since: number, response: ServerResponse): void {
    response.writeHead(since < oldestVersion ? 410 : 200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (since < oldestVersion) return void response.end()
    for (const change of changes) {
      if (change.plural === plural && change.version > since) response.write(change.line)
    }
    const watch = { plural, response }
    watches.add(watch)
    response.on('close', () => watches.delete(watch))
  }

  function setPod(pod: Json, status: Json): void {
    Object.assign(pod['status'], status)
    pod['spec'].nodeName = 'node-1'
    touched?.add(`pods/${pod['metadata'].name}`)
  }

  /** Sets the status of a Deployment whose pod has this status. */
  function countReady({ metadata, ...deployment }: Json, status: Json): void {
    const isReady = ({ type, status }: Json) => type === 'Ready' && status === 'True'
    const readyReplicas = status['conditions']?.some(isReady) ? 1 : 0
    const { generation: observedGeneration } = metadata
    const counts = { observedGeneration, replicas: 1, updatedReplicas: 1, readyReplicas }
    set(`deployments/${metadata.name}`, { ...deployment, metadata, status: counts })
  }

  function answer(method: string, url: URL, body: string): { status: number; body: Json | string } {
    if (!api.holdsTerminatingPods) removeTerminatingPods()
    // A proxy's 404 has no Kubernetes Status body.
    if (failure === 404) return { status: 404, body: 'not found' }
    if (failure !== null) return { status: failure, body: { kind: 'Status', code: failure } }
    const missing = { status: 404, body: { kind: 'Status', apiVersion: 'v1', code: 404 } }
    const [, group = '', rest = ''] = /^\/(?:api|apis)\/(v1|[^/]+\/[^/]+)(.*)$/.exec(url.pathname) ?? []
    const resourceKinds = kinds[group]
    if (resourceKinds === undefined) return missing
    if (rest === '') {
      const resources = resourceKinds.map(([kind, name]) => ({ kind, name, namespaced: true }))
      return {
        status: 200,
        body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: group, resources },
      }
    }
    const [, , , plural = '', name, part] = rest.split('/')
    const kind = resourceKinds.find(([, each]) => each === plural)?.[0]
    if (kind === undefined) return missing
    if (part === 'log') return { status: 200, body: api.log }
    if (name === undefined) {
      const selector = url.searchParams.get('labelSelector')?.split(',') ?? []
      const required = selector.filter((each) => each !== '').map((each) => each.split('='))
      const involved = url.searchParams.get('fieldSelector')?.split('=')[1]
      const found = list(plural).filter(({ metadata, involvedObject }) => {
        const matches = required.every(([label = '', value]) =>
          value === undefined ? label in (metadata.labels ?? {}) : metadata.labels?.[label] === value,
        )
        return matches && (involved === undefined || involvedObject?.name === involved)
      })
      const items = found.map(({ metadata: each, ...rest }) => ({
        ...rest,
        metadata: { ...each, namespace: 'berth' },
      }))
      const metadata = { resourceVersion: String(version) }
      return { status: 200, body: { kind: `${kind}List`, apiVersion: group, metadata, items } }
    }
    if (method === 'PATCH') return { status: 200, body: apply(plural, name, JSON.parse(body)) }
    if (method === 'DELETE') {
      return remove(plural, name) ? { status: 200, body: { kind: 'Status', apiVersion: 'v1' } } : missing
    }
    const object = objects.get(`${plural}/${name}`)
    return object === undefined ? missing : { status: 200, body: object }
  }

  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const { method = '' } = incoming
      const url = new URL(incoming.url ?? '/', 'http://cluster')
      publish()
      if (url.searchParams.has('watch')) {
        requests.push(`WATCH ${url.pathname}`)
        const since = Number(url.searchParams.get('resourceVersion'))
        return openWatch(url.pathname.split('/').at(-1)!, since, response)
      }
      requests.push(`${method} ${url.pathname}`)
      const { status, body } = answer(method, url, Buffer.concat(pieces).toString())
      const isText = typeof body === 'string'
      response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' })
      response.end(isText ? body : JSON.stringify(body))
      publish()
    })
  })
  const address = `http://127.0.0.1:${await listen(server)}`
  const kubeconfig = join(tmpdir(), `berth-kubeconfig-${randomUUID()}`)
  const entry = { name: 'double' }
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ ...entry, cluster: { server: address, 'insecure-skip-tls-verify': true } }],
      users: [{ ...entry, user: { token: 'token' } }],
      contexts: [{ ...entry, context: { cluster: 'double', user: 'double' } }],
      'current-context': 'double',
    }),
  )
  const api: KubernetesApi = {
    kubeconfig,
    requests,
    list(plural) {
      touched = null
      return list(plural)
    },
    setPods(status) {
      for (const pod of list('pods')) setPod(pod, status)
      for (const deployment of list('deployments')) countReady(deployment, status)
    },
    addPod: (pod) => set(`pods/${pod['metadata'].name}`, pod),
    setAvailableSince(at) {
      for (const { status, metadata } of list('deployments')) {
        touched?.add(`deployments/${metadata.name}`)
        status.conditions = [{ type: 'Available', status: 'True', lastTransitionTime: at.toISOString() }]
      }
    },
    holdsTerminatingPods: false,
    publish,
    expireWatches() {
      const line = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, metadata: {} } })
      for (const { response } of watches) response.end(`${line}\n`)
      watches.clear()
      publish()
      version += 1
      oldestVersion = version
    },
    log: '',
    failWith: (status) => {
      failure = status
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(kubeconfig, { force: true })
    },
  }
  return api
}
