import type { FastifyInstance } from 'fastify'
import findMyWay from 'find-my-way'
import type { HTTPMethod } from 'find-my-way'

const methods: HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Records every route added to `app`. The returned function lists the methods allowed for a URL. */
export function trackAllowedMethods(app: FastifyInstance): (url: string) => string[] {
  const router = findMyWay()
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat() as HTTPMethod[]) {
      if (!router.hasRoute(each, url)) router.on(each, url, () => {})
    }
  })
  return (url) => {
    const path = url.split('?', 1)[0] ?? url
    return methods.filter((method) => router.find(method, path) !== null)
  }
}
