import { expect, test } from 'vitest'
import type { Deployment, Permission } from '../../contract.ts'
import { judgeAccess } from './access.ts'

const viewer: Permission[] = ['readOwnDeployments', 'useOwnDeployments', 'terminateOwnDeployments']
const member: Permission[] = [...viewer, 'createDeployments']
const admin: Permission[] = [...member, 'manageDeployments']

test.each([
  {
    who: 'the owner',
    userId: 1,
    permissions: member,
    current: 7,
    shared: false,
    may: ['inspect', 'call', 'change', 'terminate'],
  },
  {
    who: 'the owner elsewhere',
    userId: 1,
    permissions: member,
    current: 8,
    shared: true,
    may: ['inspect', 'call', 'change', 'terminate'],
  },
  {
    who: 'the owner as viewer',
    userId: 1,
    permissions: viewer,
    current: 7,
    shared: false,
    may: ['inspect', 'call', 'terminate'],
  },
  { who: 'a former member', userId: 1, permissions: [], current: 8, shared: true, may: ['inspect'] },
  {
    who: 'an admin',
    userId: 2,
    permissions: admin,
    current: 7,
    shared: false,
    may: ['inspect', 'change', 'configure', 'terminate'],
  },
  {
    who: 'an admin',
    userId: 2,
    permissions: admin,
    current: 7,
    shared: true,
    may: ['inspect', 'call', 'change', 'configure', 'terminate'],
  },
  { who: 'a member', userId: 3, permissions: member, current: 7, shared: true, may: ['call'] },
  { who: 'a member elsewhere', userId: 3, permissions: member, current: 8, shared: true, may: [] },
])(
  '$who in organization $current, shared: $shared, may $may',
  ({ userId, permissions, current, shared, may }) => {
    const deployment = { user_id: '1', organization_id: '7', shared_with: shared ? 'organization' : null }
    const { isOwner, ...access } = judgeAccess(deployment as Deployment, {
      userId,
      currentOrganizationId: current,
      permissions,
    })
    expect(isOwner).toBe(userId === 1)
    expect(
      Object.entries(access)
        .filter(([, allowed]) => allowed)
        .map(([act]) => act),
    ).toEqual(may)
  },
)
