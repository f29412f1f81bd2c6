import type { App } from '../../http/app.ts'
import { readSessionToken, sessionEnded } from '../../http/current-viewer.ts'
import type { Services } from '../../services.ts'
import { getProfile } from '../accounts/get-profile.ts'
import { profileBody, updateProfileBody } from '../accounts/schemas.ts'
import { updateProfile } from '../accounts/update-profile.ts'
import { findViewer } from '../sessions/find-viewer.ts'
import { sessionBody, toSessionBody } from '../sessions/schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'>

const tags = ['Accounts']

/** The routes of a person's profile */
export function profileRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/user/profile',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'getProfile',
        summary: 'Get your profile',
        tags,
        response: { 200: profileBody },
      },
    },
    async ({ viewer }) => {
      const { created_at, ...profile } = await getProfile(deps, viewer)
      return { ...profile, created_at: created_at.toISOString() }
    },
  )

  app.patch(
    '/v1/user/profile',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'updateProfile',
        summary: 'Update your profile, or switch to another organization',
        tags,
        body: updateProfileBody,
        response: { 200: sessionBody },
        errors: ['not_found', 'profile_complete'],
      },
    },
    async (request) => {
      const { first_name, last_name, contact_number, current_organization_id, ...body } = request.body
      await updateProfile(deps, request.viewer, {
        ...body,
        firstName: first_name,
        lastName: last_name,
        contactNumber: contact_number,
        currentOrganizationId: current_organization_id,
      })
      const token = readSessionToken(request, deps.config.sessionCookie)
      const found = token === null ? null : await findViewer(deps, token)
      if (found === null) throw sessionEnded()
      return toSessionBody(found.viewer)
    },
  )
}
