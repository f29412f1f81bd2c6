import { createServer, request } from 'node:http'
import { listen } from '../../support/listen.ts'
import type { TestCluster } from '../cluster/cluster.ts'

/**
 * Makes Services reachable by name from outside the cluster: `http://127.0.0.1:<port>/<service>` is the
 * Service's own address.
 */
export interface ServiceProxy {
  /** For `KUBERNETES_ENGINE_ADDRESS` */
  serviceUrl: string
  close(): Promise<void>
}

export async function startServiceProxy({
  namespace,
  admin,
}: Pick<TestCluster, 'namespace' | 'admin'>): Promise<ServiceProxy> {
  const server = createServer((incoming, response) => {
    const [, name = '', ...path] = (incoming.url ?? '').split('/')
    forward(name, `/${path.join('/')}`).catch(() => response.destroy())

    async function forward(service: string, target: string): Promise<void> {
      const { spec } = await admin.core.readNamespacedService({ name: service, namespace })
      const { method, headers } = incoming
      const address = { host: spec?.clusterIP ?? '', port: spec?.ports?.[0]?.port ?? 0, agent: false }
      const upstream = request({ ...address, path: target, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        answer.on('error', () => response.destroy())
      })
      upstream.on('error', () => response.destroy())
      response.on('close', () => upstream.destroy())
      incoming.pipe(upstream)
    }
  })
  const port = await listen(server)
  return {
    serviceUrl: `http://127.0.0.1:${port}/{service}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
