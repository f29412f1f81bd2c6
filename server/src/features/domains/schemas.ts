import { z } from 'zod'
import { invitationRoles } from '../../base/roles.ts'
import type { DomainOrganization } from './domain-organization.ts'

export const domainOfferBody = z
  .object({
    offer: z
      .object({
        domain: z.string().describe('The domain of your address'),
        organization: z.string().describe('The name of the organization'),
        role: z.enum(invitationRoles).describe('The role that you get in it'),
      })
      .nullable()
      .describe('null without one, if you are in it already, or if your address is unverified'),
  })
  .meta({
    id: 'DomainOffer',
    description: 'The organization that you may join by the domain of your address',
  })

export function toDomainOfferBody(offer: DomainOrganization | null) {
  return { offer: offer && { domain: offer.domain, organization: offer.name, role: offer.role } }
}
