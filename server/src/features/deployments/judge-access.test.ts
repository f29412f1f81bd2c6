import { expect, test } from 'vitest'
import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Standing } from '../../base/standing.ts'
import { judgeAccess, listReadableOrganizations } from './judge-access.ts'
import type { DeploymentAct } from './judge-access.ts'

const roles = Object.keys(roleIds) as RoleName[]
const acts: DeploymentAct[] = ['read', 'call', 'change', 'terminate']
const deployment = { ownerId: 7, organizationId: 1 }

function standing(changes: Partial<Standing> = {}): Standing {
  return {
    organizationId: 1,
    organizationName: 'Acme',
    organizationStatus: 'active',
    role: 'super_admin',
    requiresSecondFactorSetup: false,
    ...changes,
  }
}

const elsewhere = standing({ organizationId: 2 })

/** What each act of a person with this standing is refused for; null if it is allowed. */
function judge(own: Standing | null, current: number, ownerId = 7) {
  const standings = own === null ? [elsewhere] : [elsewhere, own]
  const person = { userId: 7, organizationId: current, standings }
  return acts.map((act) => judgeAccess({ act, person, deployment: { ...deployment, ownerId } })?.code ?? null)
}

test.each([1, 2])(
  'current organization %i: the standing in the deployment’s organization decides',
  (current) => {
    for (const role of roles) {
      const refusal = role === 'viewer' ? 'forbidden' : null
      expect(judge(standing({ role }), current), role).toEqual([null, null, refusal, refusal])
    }
    for (const organizationStatus of ['suspended', 'closed'] as const) {
      const refusal = 'organization_suspended'
      expect(judge(standing({ organizationStatus }), current)).toEqual([null, refusal, refusal, refusal])
    }
    const factor = 'second_factor_setup_required'
    expect(judge(standing({ requiresSecondFactorSetup: true }), current)).toEqual([
      factor,
      factor,
      factor,
      factor,
    ])
  },
)

test('a former member and a colleague learn nothing', () => {
  const unknown = acts.map(() => 'not_found')
  expect(judge(null, 2)).toEqual(unknown)
  expect(judge(standing(), 1, 8)).toEqual(unknown)
})

test('a person reads deployments of the organizations that let them', () => {
  const standings = [
    standing({ organizationStatus: 'suspended' }),
    standing({ organizationId: 2, requiresSecondFactorSetup: true }),
    standing({ organizationId: 3, role: 'viewer' }),
  ]
  expect(listReadableOrganizations({ userId: 7, organizationId: 2, standings })).toEqual([1, 3])
})
