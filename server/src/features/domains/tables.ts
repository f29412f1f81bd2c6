import type { InvitationRole } from '../../base/roles.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    organization_domains: OrganizationDomainsTable
    domain_exclusions: DomainExclusionsTable
  }
}

export interface OrganizationDomainsTable {
  domain: string
  organization_id: number
  role: InvitationRole | null
}

export interface DomainExclusionsTable {
  organization_id: number
  email_hash: Buffer
}
