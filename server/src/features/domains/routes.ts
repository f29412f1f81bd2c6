import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { acceptDomainOffer, findDomainOffer } from './join-domain.ts'
import { domainOfferBody, toDomainOfferBody } from './schemas.ts'

const tags = ['Accounts']
const config = { permission: null, admitsServices: false } as const

/** The routes with which a person joins the organization of their address's domain. */
export function domainRoutes(app: App, deps: Pick<Services, 'db' | 'clock' | 'config'>): void {
  app.get(
    '/v1/user/domain-organization',
    {
      config,
      schema: {
        operationId: 'getDomainOffer',
        summary: 'Get the organization that you may join by the domain of your address',
        tags,
        response: { 200: domainOfferBody },
      },
    },
    async ({ viewer }) => toDomainOfferBody(await findDomainOffer(deps, viewer)),
  )

  app.post(
    '/v1/user/domain-organization',
    {
      config,
      schema: {
        operationId: 'acceptDomainOffer',
        summary: 'Join the organization of your address’s domain, and switch to it',
        tags,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ viewer }, reply) => {
      await acceptDomainOffer(deps, viewer)
      return reply.code(204).send(null)
    },
  )
}
