import type { PeopleQuery, RoleName } from '../../../contract.ts'
import { toPageNumber } from '../../../routing/search.ts'

export const roles = ['super_admin', 'admin', 'member', 'viewer'] as const satisfies RoleName[]
export const kinds = ['member', 'service', 'invitation'] as const satisfies PeopleQuery['kind'][]
/** The orders of the list besides that by kind. Only admins see the dates. */
export const sorts = ['name', 'role', '-last_active_at', 'last_active_at', '-joined_at'] as const

/** People per page of the list */
export const pageSize = 50

/** The filters of the list of people, as typed in the address. */
export interface PeopleSearch {
  /** In the name or the email */
  q?: string | undefined
  role?: string | undefined
  kind?: string | undefined
  sort?: string | undefined
  /** The page number, from 1 */
  page?: string | undefined
}

/** The query for the filters, without invalid ones. By default invitations come first. */
export const toPeopleQuery = ({ q, role, kind, sort, page }: PeopleSearch) =>
  ({
    q,
    role: roles.find((one) => one === role),
    kind: kinds.find((one) => one === kind),
    sort: sorts.find((one) => one === sort) ?? 'kind',
    limit: pageSize,
    offset: (toPageNumber(page) - 1) * pageSize,
  }) satisfies PeopleQuery
