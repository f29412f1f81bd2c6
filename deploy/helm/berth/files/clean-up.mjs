import { readFile } from 'node:fs/promises'

const read = (name) => readFile(`/var/run/secrets/kubernetes.io/serviceaccount/${name}`, 'utf8')
const [token, namespace] = await Promise.all([read('token'), read('namespace')])
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
const engines = encodeURIComponent('app.kubernetes.io/managed-by=berth,berth.dev/instance-id')
for (const [api, plural] of [
  ['apps/v1', 'deployments'],
  ['leaderworkerset.x-k8s.io/v1', 'leaderworkersets'],
]) {
  const path = `/apis/${api}/namespaces/${namespace}/${plural}`
  const response = await fetch(`${server}${path}?labelSelector=${engines}&propagationPolicy=Background`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  })
  // A cluster without LeaderWorkerSet has none.
  if (!response.ok && response.status !== 404) throw new Error(`${path}: ${await response.text()}`)
}
