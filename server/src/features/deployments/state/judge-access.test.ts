import { expect, test } from 'vitest'
import { roleIds } from '../../../base/roles.ts'
import type { RoleName } from '../../../base/roles.ts'
import type { Standing } from '../../../base/standing.ts'
import { judgeAccess, listReadableOrganizations } from './judge-access.ts'
import type { DeploymentAct, DeploymentOwnership } from './judge-access.ts'

const roles = Object.keys(roleIds) as RoleName[]
const acts: DeploymentAct[] = ['read', 'inspect', 'call', 'change', 'terminate']
const deployment = { ownerId: 7, organizationId: 1, sharedWith: null, isOutside: false }

function standing(changes: Partial<Standing> = {}): Standing {
  return {
    organizationId: 1,
    organizationName: 'Acme',
    organizationStatus: 'active',
    role: 'super_admin',
    requiresSecondFactorSetup: false,
    teamIds: [],
    exhaustedTeams: [],
    callsBlockedUntil: null,
    ...changes,
  }
}

const elsewhere = standing({ organizationId: 2 })

/** What each act of a person with this standing is refused for; null if it is allowed. */
function judge(own: Standing | null, current: number, other: Partial<DeploymentOwnership> = {}) {
  const standings = own === null ? [elsewhere] : [elsewhere, own]
  const person = { userId: 7, organizationId: current, standings }
  return acts.map(
    (act) => judgeAccess({ act, person, deployment: { ...deployment, ...other } })?.code ?? null,
  )
}

test.each([1, 2])(
  'current organization %i: the standing in the deployment’s organization decides',
  (current) => {
    for (const role of roles) {
      const refusal = role === 'viewer' ? 'forbidden' : null
      expect(judge(standing({ role }), current), role).toEqual([null, null, null, refusal, null])
    }
    for (const organizationStatus of ['suspended', 'closed'] as const) {
      const refusal = 'organization_suspended'
      expect(judge(standing({ organizationStatus }), current)).toEqual([
        null,
        null,
        refusal,
        refusal,
        refusal,
      ])
    }
    const factor = 'second_factor_setup_required'
    expect(judge(standing({ requiresSecondFactorSetup: true }), current)).toEqual(acts.map(() => factor))
  },
)

test('a former member learns nothing, not even of a shared deployment', () => {
  expect(judge(null, 2)).toEqual(acts.map(() => 'not_found'))
  expect(judge(null, 2, { ownerId: 8, sharedWith: 'organization' })).toEqual(acts.map(() => 'not_found'))
})

const notFound = acts.map(() => 'not_found')

test.each([
  ['viewer', 1, null, notFound],
  ['member', 1, null, notFound],
  ['admin', 1, null, [null, null, 'not_found', null, null]],
  ['super_admin', 2, null, [null, null, 'not_found', null, null]],
  ['viewer', 1, 'organization', [null, 'forbidden', null, 'forbidden', 'forbidden']],
  ['member', 1, 'organization', [null, 'forbidden', null, 'forbidden', 'forbidden']],
  ['member', 2, 'organization', [null, 'forbidden', 'not_found', 'forbidden', 'forbidden']],
  ['admin', 1, 'organization', [null, null, null, null, null]],
  ['admin', 2, 'organization', [null, null, 'not_found', null, null]],
] as const)(
  'a colleague’s deployment: %s whose current organization is %i, shared with %s',
  (role, current, sharedWith, expected) => {
    expect(judge(standing({ role }), current, { ownerId: 8, sharedWith })).toEqual(expected)
  },
)

/** Shared with team 3, and with the person whose id is 6 */
const some = { ownerId: 8, sharedWith: { teams: [3], members: [6] } }

test.each([
  ['in the team', [2, 3], 7, true],
  ['in another team', [2], 7, false],
  ['in no team', [], 7, false],
  ['named', [], 6, true],
] as const)('a deployment shared with a team and a member: who is %s', (_, teamIds, userId, isShared) => {
  for (const role of roles) {
    for (const current of [1, 2]) {
      const own = standing({ role, teamIds })
      const person = { userId, organizationId: current, standings: [elsewhere, own] }
      const found = acts.map(
        (act) => judgeAccess({ act, person, deployment: { ...deployment, ...some } })?.code ?? null,
      )
      const manages = role === 'admin' || role === 'super_admin'
      const call = isShared && current === 1 ? null : 'not_found'
      const managed = [null, null, call, null, null]
      const shared = [null, 'forbidden', call, 'forbidden', 'forbidden']
      expect(found, `${role} ${current}`).toEqual(manages ? managed : isShared ? shared : notFound)
    }
  }
})

test('where prompts may not leave, an endpoint’s model is not called, and all else goes on', () => {
  const own = standing({ forbidsExternal: true })
  const refused = [null, null, 'external_not_allowed', null, null]
  expect(judge(own, 1, { isOutside: true })).toEqual(refused)
  expect(judge(own, 1)).toEqual(acts.map(() => null))
  expect(judge(standing(), 1, { isOutside: true })).toEqual(acts.map(() => null))
})

test('a team of another organization gives no access', () => {
  const person = {
    userId: 7,
    organizationId: 1,
    standings: [standing({ role: 'viewer' }), { ...elsewhere, teamIds: [3] }],
  }
  expect(judgeAccess({ act: 'call', person, deployment: { ...deployment, ...some } })?.code).toBe('not_found')
})

test('a person reads deployments of the organizations that let them', () => {
  const standings = [
    standing({ organizationStatus: 'suspended' }),
    standing({ organizationId: 2, requiresSecondFactorSetup: true }),
    standing({ organizationId: 3, role: 'viewer' }),
  ]
  expect(listReadableOrganizations({ userId: 7, organizationId: 2, standings })).toEqual([1, 3])
})
