import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorState, Notice, Skeleton } from '../../components/states.tsx'
import type { OwnOrganization, Profile } from '../../contract.ts'
import { ActiveDeployments } from '../../domain/deployments/active-deployments.tsx'
import { ownDeploymentsQuery } from '../../domain/deployments/queries.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { ConfirmField } from '../../domain/second-factors/confirm-field.tsx'
import type { Confirmation } from '../../domain/second-factors/confirm-identity.ts'
import { organizationsQuery, useSwitchOrganization } from '../../domain/session/organizations.ts'
import { text } from '../../text/index.ts'
import { useDeleteAccount } from './queries.ts'

const words = text.profile

/** Deletes the account after a confirmation, and first says what ends with it, or why it can't be deleted. */
export function DeleteAccountDialog({ profile, onClose }: { profile: Profile; onClose: () => void }) {
  const [confirmation, setConfirmation] = useState<Confirmation>({ password: '' })
  const deletion = useDeleteAccount()
  const organizations = useQuery({ ...organizationsQuery, staleTime: 0 })
  const deployments = useQuery({
    ...ownDeploymentsQuery,
    select: ({ items }) => items.filter((deployment) => !isEnding(deployment)),
  })
  const asksPassword = usePasswordsAllowed() && profile.has_password
  const failed = [organizations, deployments].find(({ isError }) => isError)
  const isKnown = !organizations.isFetching && !deployments.isPending && !failed
  const owned = organizations.data?.filter((one) => one.on_account_deletion === 'refuse') ?? []
  const closing = organizations.data?.filter((one) => one.on_account_deletion === 'close') ?? []
  const ending = deployments.data ?? []
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.deleteTitle}
      description={words.deleteDescription}
      confirmLabel={words.deleteAccount}
      dangerous
      busy={deletion.isPending}
      disabled={!isKnown || owned.length > 0}
      error={deletion.error}
      onConfirm={() => deletion.mutate(asksPassword ? confirmation : null)}
    >
      {failed ? (
        <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />
      ) : !isKnown ? (
        <Skeleton className="h-24 rounded-xl" />
      ) : owned.length > 0 ? (
        owned.map((one) => <OnlyOwner key={one.id} organization={one} onLeave={onClose} />)
      ) : (
        <>
          {closing.length > 0 && <p>{words.closing(closing.map(({ name }) => name).join(', '))}</p>}
          {ending.length > 0 && (
            <ActiveDeployments title={words.deploymentsEnd(ending.length)} deployments={ending} />
          )}
          {asksPassword ? (
            <ConfirmField error={deletion.error} onChange={setConfirmation} />
          ) : (
            <p className="text-muted">{words.deleteBySso}</p>
          )}
        </>
      )}
    </ConfirmDialog>
  )
}

/** Why the account can't be deleted yet: an organization would be left without an owner. */
function OnlyOwner({ organization, onLeave }: { organization: OwnOrganization; onLeave: () => void }) {
  const change = useSwitchOrganization()
  const { name, current } = organization
  return (
    <Notice
      tone="warn"
      action={
        current ? (
          <Button asChild size="small">
            <Link to="/organization" onClick={onLeave}>
              {text.organization.seeMembers}
            </Link>
          </Button>
        ) : (
          <Button size="small" busy={change.isPending} onClick={() => change.mutate(organization)}>
            {text.palette.switchTo(name)}
          </Button>
        )
      }
    >
      {words.onlyOwner(name)}
    </Notice>
  )
}
