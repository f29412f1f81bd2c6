import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { changeOrganization } from './change-organization.ts'
import { listMembers } from './members.ts'
import {
  membersBody,
  organizationBody,
  updateOrganizationBody,
  ownOrganizationsBody,
  toMemberBody,
  toOrganizationBody,
  toOwnOrganizationBody,
} from './schemas.ts'
import { getOrganization, listOwnOrganizations } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock'>

const tags = ['Organization']

/** The routes of the current organization, its members, and the organizations of a person. */
export function organizationRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/organization',
    {
      config: { permission: 'readOrganization' },
      schema: {
        operationId: 'getOrganization',
        summary: 'Get your current organization',
        tags,
        response: { 200: organizationBody },
      },
    },
    async ({ viewer }) =>
      toOrganizationBody(await getOrganization(deps.db, viewer.organizationId), viewer.role),
  )

  app.patch(
    '/v1/organization',
    {
      config: { permission: 'updateOrganization' },
      schema: {
        operationId: 'updateOrganization',
        summary: 'Update your current organization',
        tags,
        body: updateOrganizationBody,
        response: { 200: organizationBody },
        errors: ['no_second_factor'],
      },
    },
    async ({ body, viewer }) => {
      const { requires_second_factor: requiresSecondFactor, allow_external: allowExternal, ...same } = body
      const changes = { ...same, requiresSecondFactor, allowExternal }
      const organization = await changeOrganization(deps, viewer, changes)
      return toOrganizationBody(organization, viewer.role)
    },
  )

  app.get(
    '/v1/user/organizations',
    {
      config: { permission: null, admitsServices: true },
      schema: {
        operationId: 'listOwnOrganizations',
        summary: 'List the organizations you are a member of, sorted by name',
        description: 'To switch to another organization, use PATCH /v1/user/profile.',
        tags,
        response: { 200: ownOrganizationsBody },
      },
    },
    async ({ viewer }) => {
      const organizations = await listOwnOrganizations(deps.db, viewer.userId)
      return organizations.map((own) => toOwnOrganizationBody(own, viewer.organizationId))
    },
  )

  app.get(
    '/v1/organization/members',
    {
      config: { permission: 'readOrganization' },
      schema: {
        operationId: 'listMembers',
        summary: 'List the members of your current organization, earliest first',
        tags,
        response: { 200: membersBody },
      },
    },
    async ({ viewer }) => (await listMembers(deps.db, viewer.organizationId)).map(toMemberBody),
  )
}
