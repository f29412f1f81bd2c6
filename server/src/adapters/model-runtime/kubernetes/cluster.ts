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
import type { KubernetesRuntimeSettings } from './settings.ts'

/** Which object is meant; the namespace is always the runtime's. */
export interface ObjectReference {
  apiVersion: string
  kind: string
  name: string
}

export interface LogRequest {
  pod: string
  /** The container before the one that runs now */
  previous?: boolean | undefined
  tailLines?: number | undefined
  follow?: boolean | undefined
  sinceTime?: Date | undefined
}

/** The requests that the runtime makes, all of them in one namespace. Each throws where the cluster can't be asked. */
export interface Cluster {
  /** Creates or changes an object by server-side apply; the same object again changes nothing. */
  apply<T extends KubernetesObject>(object: T): Promise<T>
  read<T extends KubernetesObject>(reference: ObjectReference): Promise<T | null>
  setReplicas(reference: ObjectReference, replicas: number): Promise<void>
  /** True when there is no such object (any more). */
  remove(reference: ObjectReference, options?: { now?: boolean | undefined }): Promise<boolean>
  /** Empty too where the cluster knows no such kind. */
  list<T extends KubernetesObject>(apiVersion: string, kind: string, labelSelector: string): Promise<T[]>
  /** `recent` may be behind by a moment, and costs the cluster little; without, it reads all pods of the namespace. */
  listPods(labelSelector: string, how?: 'recent'): Promise<V1Pod[]>
  listEvents(objectName: string): Promise<CoreV1Event[]>
  /** Whether the cluster knows a kind. */
  knows(apiVersion: string, kind: string): Promise<boolean>
  /** The body of a log with a time before each line; null where there is none (yet). */
  openLog(request: LogRequest, signal: AbortSignal): Promise<Response['body']>
}

const fieldManager = 'berth'
const requestTimeout = 10_000

/** Connects with a kubeconfig file, or as the service account of this pod; throws where neither can be read. */
export function connectCluster({
  kubeconfig,
  namespace,
}: Pick<KubernetesRuntimeSettings, 'kubeconfig' | 'namespace'>): Cluster {
  const config = new KubeConfig()
  if (kubeconfig === null) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  const server = config.getCurrentCluster()?.server
  if (server === undefined) throw new Error('The kubeconfig names no cluster.')
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
    const found = await nullWhenMissing(apiVersion, api.list<T>(apiVersion, kind, namespace, ...args))
    return found?.items ?? []
  }

  async function patch<T extends KubernetesObject>(object: T, strategy: PatchStrategy): Promise<T> {
    const force = strategy === PatchStrategy.ServerSideApply ? true : undefined
    return await api.patch(object, undefined, undefined, fieldManager, force, strategy)
  }

  return {
    apply: (object) => patch(object, PatchStrategy.ServerSideApply),
    read: <T extends KubernetesObject>(reference: ObjectReference) =>
      nullWhenMissing(reference.apiVersion, api.read<T>(locate(reference))),
    async setReplicas(reference, replicas) {
      const object = { ...locate(reference), spec: { replicas } }
      await nullWhenMissing(reference.apiVersion, patch(object, PatchStrategy.MergePatch))
    },
    async remove(reference, { now = false } = {}) {
      const grace = now ? 0 : undefined
      const how = [undefined, undefined, grace, undefined, now ? undefined : 'Foreground'] as const
      const answer = api.delete(locate(reference), ...how)
      return (await nullWhenMissing(reference.apiVersion, answer)) === null
    },
    list: (apiVersion, kind, labelSelector) => list(apiVersion, kind, { labelSelector }),
    async listPods(labelSelector, how) {
      const freshness = how === 'recent' ? { resourceVersion: '0' } : {}
      return (await core.listNamespacedPod({ namespace, labelSelector, ...freshness })).items
    },
    listEvents: (name) => list<CoreV1Event>('v1', 'Event', { fieldSelector: `involvedObject.name=${name}` }),
    async knows(apiVersion, kind) {
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
      return (await nullWhenMissing(apiVersion, probe)) !== null
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
      // The client's own function for logs ends the process when a stream that it follows breaks.
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
      // 400: the container has not started, or has none before it; 404: the pod is gone.
      if (response.status === 400 || response.status === 404) return null
      throw new Error(`The cluster answered ${response.status} for a log: ${text.slice(0, 300)}`)
    },
  }
}

/** The one kind that a cluster may lack, or lose, in which case its address is nobody's. */
const isOptional = (apiVersion: string) => apiVersion.startsWith('leaderworkerset.')

/**
 * Null for what the cluster says is not there. Anything between here and the cluster may answer 404 as well: taken for the
 * cluster's word, it would pass for the confirmed end of an engine.
 */
async function nullWhenMissing<T>(apiVersion: string, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
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
