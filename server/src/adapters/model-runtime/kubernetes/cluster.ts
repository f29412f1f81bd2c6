import {
  ApiException,
  CoreV1Api,
  createConfiguration,
  HttpMethod,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  RequestContext,
  ServerConfiguration,
} from '@kubernetes/client-node'
import type { CoreV1Event, KubernetesObject, V1Pod } from '@kubernetes/client-node'
import { fetch } from 'undici'
import type { Response } from 'undici'
import { engineContainer } from './names.ts'
import { watchKind } from './watch-kind.ts'
import type { WatchedKind, WatchOptions } from './watch-kind.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** Names one object in the runtime's namespace. */
export interface ObjectReference {
  apiVersion: string
  kind: string
  name: string
}

export interface LogRequest {
  pod: string
  /** Read the log of the previous container */
  previous?: boolean | undefined
  tailLines?: number | undefined
  follow?: boolean | undefined
  sinceTime?: Date | undefined
}

/** The Kubernetes API requests of the runtime, all in one namespace. Each throws if the request fails. */
export interface Cluster {
  /** Creates or updates an object by server-side apply. Idempotent. */
  apply<T extends KubernetesObject>(object: T): Promise<T>
  /** null if the object does not exist */
  read<T extends KubernetesObject>(reference: ObjectReference): Promise<T | null>
  setReplicas(reference: ObjectReference, replicas: number): Promise<void>
  /** Requests deletion; true once the object no longer exists. `now` skips the grace period. */
  remove(reference: ObjectReference, options?: { now?: boolean | undefined }): Promise<boolean>
  /** Empty if the cluster does not support the kind. */
  list<T extends KubernetesObject>(apiVersion: string, kind: string, labelSelector: string): Promise<T[]>
  /** `mayBeStale` reads from the API server's cache, which is cheap; otherwise the read goes to etcd. */
  listPods(labelSelector: string, options?: { mayBeStale?: boolean }): Promise<V1Pod[]>
  listEvents(objectName: string): Promise<CoreV1Event[]>
  /** Watches the objects of a kind until it is closed. */
  watch<T extends KubernetesObject>(
    kind: Omit<ObjectReference, 'name'>,
    plural: string,
    options: Pick<WatchOptions<T>, 'labelSelector' | 'onChange' | 'onInterruption'>,
  ): WatchedKind<T>
  /** Whether the cluster has the API for a kind. */
  supportsKind(apiVersion: string, kind: string): Promise<boolean>
  /** The log with a timestamp before each line; null if the pod or container does not exist yet. */
  openLog(request: LogRequest, signal: AbortSignal): Promise<Response['body']>
}

const fieldManager = 'berth'
const requestTimeout = 10_000

/** Connects with a kubeconfig file, or this pod's service account if null. Throws if it can't be read. */
export function connectCluster({
  kubeconfig,
  namespace,
}: Pick<KubernetesRuntimeSettings, 'kubeconfig' | 'namespace'>): Cluster {
  const config = new KubeConfig()
  if (kubeconfig === null) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  const server = config.getCurrentCluster()?.server
  if (server === undefined) throw new Error('The kubeconfig has no current cluster. Set its current-context.')
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: { default: config },
    promiseMiddleware: [
      {
        pre: async (context) => {
          context.setSignal(AbortSignal.timeout(requestTimeout))
          return context
        },
        post: async (response) => response,
      },
    ],
  })
  const api = new KubernetesObjectApi(configuration)
  const core = new CoreV1Api(configuration)
  const locate = ({ apiVersion, kind, name }: ObjectReference) => ({
    apiVersion,
    kind,
    metadata: { name, namespace },
  })

  async function list<T extends KubernetesObject>(
    apiVersion: string,
    kind: string,
    filter: { fieldSelector?: string; labelSelector?: string },
  ): Promise<T[]> {
    const { fieldSelector, labelSelector } = filter
    const args = [undefined, undefined, undefined, fieldSelector, labelSelector] as const
    const found = await nullIfMissing(apiVersion, api.list<T>(apiVersion, kind, namespace, ...args))
    return found?.items ?? []
  }

  async function patch<T extends KubernetesObject>(object: T, strategy: PatchStrategy): Promise<T> {
    const force = strategy === PatchStrategy.ServerSideApply ? true : undefined
    return await api.patch(object, undefined, undefined, fieldManager, force, strategy)
  }

  return {
    apply: (object) => patch(object, PatchStrategy.ServerSideApply),
    read: <T extends KubernetesObject>(reference: ObjectReference) =>
      nullIfMissing(reference.apiVersion, api.read<T>(locate(reference))),
    async setReplicas(reference, replicas) {
      const object = { ...locate(reference), spec: { replicas } }
      await nullIfMissing(reference.apiVersion, patch(object, PatchStrategy.MergePatch))
    },
    async remove(reference, { now = false } = {}) {
      const grace = now ? 0 : undefined
      const args = [undefined, undefined, grace, undefined, now ? undefined : 'Foreground'] as const
      const response = api.delete(locate(reference), ...args)
      return (await nullIfMissing(reference.apiVersion, response)) === null
    },
    list: (apiVersion, kind, labelSelector) => list(apiVersion, kind, { labelSelector }),
    async listPods(labelSelector, { mayBeStale } = {}) {
      const freshness = mayBeStale ? { resourceVersion: '0' } : {}
      return (await core.listNamespacedPod({ namespace, labelSelector, ...freshness })).items
    },
    listEvents: (name) => list<CoreV1Event>('v1', 'Event', { fieldSelector: `involvedObject.name=${name}` }),
    watch: <T extends KubernetesObject>(
      { apiVersion, kind }: Omit<ObjectReference, 'name'>,
      plural: string,
      options: Pick<WatchOptions<T>, 'labelSelector' | 'onChange' | 'onInterruption'>,
    ) => {
      const args = [undefined, undefined, undefined, undefined, options.labelSelector] as const
      const path = `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/${namespace}/${plural}`
      const listAll = () => api.list<T>(apiVersion, kind, namespace, ...args)
      return watchKind<T>({ config, namespace, path, list: listAll, ...options })
    },
    async supportsKind(apiVersion, kind) {
      const probe = api.list(
        apiVersion,
        kind,
        namespace,
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        1,
      )
      return (await nullIfMissing(apiVersion, probe)) !== null
    },
    async openLog(request, signal) {
      const url = new URL(`${server}/api/v1/namespaces/${namespace}/pods/${request.pod}/log`)
      const query = {
        container: engineContainer,
        timestamps: true,
        previous: request.previous,
        tailLines: request.tailLines,
        follow: request.follow,
        sinceTime: request.sinceTime?.toISOString(),
      }
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) url.searchParams.set(name, String(value))
      }
      // The client's own log function crashes the process when a followed stream breaks.
      const context = new RequestContext(url.href, HttpMethod.GET)
      await config.applySecurityAuthentication(context)
      const dispatcher = context.getDispatcher()
      const response = await fetch(url, {
        headers: context.getHeaders(),
        signal,
        ...(dispatcher === undefined ? {} : { dispatcher }),
      })
      if (response.ok) return response.body
      const text = await response.text()
      // 400: the container has not started or has no predecessor. 404: the pod was deleted.
      if (response.status === 400 || response.status === 404) return null
      throw new Error(`The cluster answered a log request with ${response.status}: ${text.slice(0, 300)}`)
    },
  }
}

/** LeaderWorkerSet is an add-on, so any 404 from its API means that it is not installed. */
const isOptional = (apiVersion: string) => apiVersion.startsWith('leaderworkerset.')

/** null if an object doesn't exist. Only a `Status` body counts: a proxy's 404 must not confirm a stop. */
async function nullIfMissing<T>(apiVersion: string, response: Promise<T>): Promise<T | null> {
  try {
    return await response
  } catch (error) {
    if (error instanceof ApiException && error.code === 404) {
      const body = typeof error.body === 'string' ? error.body : JSON.stringify(error.body)
      if (isOptional(apiVersion) || /"kind":\s*"Status"/.test(body ?? '')) return null
    }
    const isUnknown = error instanceof Error && error.message.startsWith('Unrecognized API version and kind')
    if (isUnknown && isOptional(apiVersion)) return null
    throw error
  }
}
