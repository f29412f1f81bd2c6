import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import type { Services } from '../../services.ts'
import { createServiceMember } from './create-service-member.ts'
import { listServiceMembers } from './find-service-member.ts'
import { rotatePassword } from './rotate-password.ts'
import { updateServiceMember } from './update-service-member.ts'
import {
  issuedServiceMemberBody,
  newServiceMemberBody,
  rotationQuery,
  serviceMemberBody,
  updateServiceMemberBody,
  serviceMemberParams,
  serviceMembersBody,
  toIssuedBody,
  toServiceMemberBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'>

const tags = ['Organization']

/** The routes with which admins add programs to the organization. */
export function serviceMemberRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/organization/service-members',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'listServiceMembers',
        summary: 'List the service members of your current organization, earliest first',
        tags,
        response: { 200: serviceMembersBody },
      },
    },
    async ({ viewer }) =>
      (await listServiceMembers(deps.db, viewer.organizationId, deps.clock())).map(toServiceMemberBody),
  )

  app.post(
    '/v1/organization/service-members',
    {
      config: { permission: 'manageMembers', creates: 'atomically' },
      schema: {
        operationId: 'createServiceMember',
        summary: 'Add a program to your current organization',
        description:
          'The response has the email and the password with which the program signs in at POST /v1/user/signin, from its networks only. ' +
          'The password is shown once. PATCH and DELETE /v1/organization/members/{member_id} change its role and remove it.',
        tags,
        body: newServiceMemberBody,
        response: { 200: issuedServiceMemberBody },
        errors: ['too_many_service_members'],
      },
    },
    async (request) =>
      toIssuedBody(await createServiceMember(joinResponse(deps, request), request.viewer, request.body)),
  )

  app.patch(
    '/v1/organization/service-members/:member_id',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'updateServiceMember',
        summary: 'Update the networks of a service member, or its right to name members',
        description: 'Its sessions from other networks end.',
        tags,
        params: serviceMemberParams,
        body: updateServiceMemberBody,
        response: { 200: serviceMemberBody },
        errors: ['not_found'],
      },
    },
    async ({ body, params, viewer }) =>
      toServiceMemberBody(await updateServiceMember(deps, viewer, params.member_id, body)),
  )

  app.post(
    '/v1/organization/service-members/:member_id/rotate',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'rotateServicePassword',
        summary: 'Rotate the password of a service member',
        description:
          'The old password, and the sessions until now, go on for 24 hours. With `now=true` they end at once.',
        tags,
        params: serviceMemberParams,
        querystring: rotationQuery,
        response: { 200: issuedServiceMemberBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) =>
      toIssuedBody(await rotatePassword(deps, viewer, params.member_id, query.now)),
  )
}
