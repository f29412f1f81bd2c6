import type { App } from '../../http/app.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { changeOrganization } from './change-organization.ts'
import { listMembers } from './members.ts'
import {
  membersBody,
  organizationBody,
  organizationChangesBody,
  ownOrganizationsBody,
  toMemberBody,
  toOrganizationBody,
  toOwnOrganizationBody,
} from './schemas.ts'
import { getOrganization, listOwnOrganizations } from './store.ts'

const tags = ['Organization']

export function organizationRoutes(app: App, deps: Pick<Services, 'db' | 'clock'>): void {
  const { db } = deps

  app.get(
    '/v1/organization',
    {
      config: { permission: 'readOrganization' },
      schema: {
        operationId: 'getOrganization',
        summary: 'Get your current organization',
        tags,
        response: { 200: organizationBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => toOrganizationBody(await getOrganization(db, viewer.organizationId), viewer.role),
  )

  app.patch(
    '/v1/organization',
    {
      config: { permission: 'updateOrganization' },
      schema: {
        operationId: 'updateOrganization',
        summary: 'Update your current organization',
        tags,
        body: organizationChangesBody,
        response: { 200: organizationBody, ...protectedProblems, ...bodyProblems, ...problems(409) },
      },
    },
    async ({ body, viewer }) => {
      const { requires_second_factor: requiresSecondFactor, ...changes } = body
      const organization = await changeOrganization(deps, viewer, { ...changes, requiresSecondFactor })
      return toOrganizationBody(organization, viewer.role)
    },
  )

  app.get(
    '/v1/user/organizations',
    {
      config: { permission: null },
      schema: {
        operationId: 'listOwnOrganizations',
        summary: 'List the organizations you are a member of, sorted by name',
        description: 'To switch to another organization, use PATCH /v1/user/profile.',
        tags,
        response: { 200: ownOrganizationsBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => {
      const organizations = await listOwnOrganizations(db, viewer.userId)
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
        response: { 200: membersBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => (await listMembers(db, viewer.organizationId)).map(toMemberBody),
  )
}
