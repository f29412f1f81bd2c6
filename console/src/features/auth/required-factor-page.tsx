import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useSession } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { FactorSetup } from '../../domain/second-factors/factor-setup.tsx'
import {
  organizationsQuery,
  useLeaveOrganization,
  useSwitchOrganization,
} from '../../domain/session/organizations.ts'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { SignedInFooter } from './signed-in-footer.tsx'

/** Leads a person to a second factor that their organization requires, or to another organization. */
export function RequiredFactorPage() {
  const { user } = useSession()
  const navigate = useNavigate()
  const isDone = !user.requires_second_factor_setup
  useEffect(() => {
    if (isDone) void navigate({ to: '/deployments', replace: true })
  }, [isDone, navigate])
  return (
    <AuthLayout
      title={text.secondFactors.requiredTitle}
      description={<p>{text.secondFactors.requiredDescription(user.organization)}</p>}
      footer={<SignedInFooter />}
    >
      <FactorSetup />
      <OtherOrganizations current={user.organization} />
    </AuthLayout>
  )
}

function OtherOrganizations({ current }: { current: string }) {
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const change = useSwitchOrganization()
  const leave = useLeaveOrganization()
  const [leaving, setLeaving] = useState(false)
  return (
    <div className="grid justify-items-start gap-2 border-t pt-5">
      <p className="text-muted">{text.secondFactors.otherOrganizations}</p>
      {organizations
        .filter((one) => !one.current)
        .map((one) => (
          <button key={one.id} type="button" className={authLink} onClick={() => change.mutate(one)}>
            {text.palette.switchTo(one.name)}
          </button>
        ))}
      <button type="button" className={authLink} onClick={() => setLeaving(true)}>
        {text.secondFactors.leave(current)}
      </button>
      <ConfirmDialog
        open={leaving}
        onClose={() => setLeaving(false)}
        title={text.organization.leaveTitle(current)}
        description={text.organization.leaveDescription}
        confirmLabel={text.organization.leave}
        dangerous
        busy={leave.isPending}
        error={leave.error}
        onConfirm={() => leave.mutate({})}
      />
    </div>
  )
}
