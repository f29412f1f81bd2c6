import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Ban, DatabaseBackup, MailWarning, UserRoundX } from 'lucide-react'
import { useEffect, useState } from 'react'
import { callApi } from '../api/client.ts'
import { organizationQuery, useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { describeError } from '../components/states.tsx'
import { useIsCopy } from '../domain/installation.ts'
import { organizationsQuery, useOpenOrganization } from '../domain/session/organizations.ts'
import { text } from '../text/index.ts'
import type { LastOrganization } from './use-last-organization.ts'

/** What few people see above a page, such as about their membership, their address and their organization. */
export function Notices({ last }: { last: LastOrganization | null }) {
  return (
    <>
      {last && <FormerOrganizationNotice key={last.id} last={last} />}
      <EmailNotice />
      <SuspensionNotice />
      <CopyNotice />
    </>
  )
}

/** Shown while the operator has suspended the current organization, or after closing it. */
function SuspensionNotice() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  if (organization.status === 'active') return null
  return (
    <div role="status" className="flex items-center gap-x-3 bg-bad-soft px-4 py-2 text-bad sm:px-8">
      <Ban aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 wrap-anywhere">{text.notices[organization.status](organization.name)}</p>
    </div>
  )
}

/** Shown while the database is a copy, and workers wait for the operator. */
function CopyNotice() {
  if (!useIsCopy()) return null
  return (
    <div role="status" className="flex items-center gap-x-3 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <DatabaseBackup aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 wrap-anywhere">{text.notices.copiedDatabase}</p>
    </div>
  )
}

/** Shown until the person has opened the link that verifies their address. */
function EmailNotice() {
  const { user } = useSession()
  const resend = useMutation({
    mutationFn: () => callApi('POST', '/v1/user/email-verification/request'),
  })
  if (!user.requires_email_verification) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <MailWarning aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 wrap-anywhere">{text.notices.verifyEmail(user.email)}</p>
      <p role="status">
        {resend.isSuccess && text.notices.emailSent}
        {resend.error && describeError(resend.error)}
      </p>
      {!resend.isSuccess && (
        <Button size="small" busy={resend.isPending} onClick={() => resend.mutate()}>
          {text.notices.sendAgain}
        </Button>
      )}
    </div>
  )
}

/**
 * Says once that the person is no longer a member of the organization that they worked in, and opens the
 * deployments of the next one.
 */
function FormerOrganizationNotice({ last }: { last: LastOrganization }) {
  const { data: current } = useSuspenseQuery(organizationQuery)
  const [isFormer, setFormer] = useState(false)
  const queryClient = useQueryClient()
  const open = useOpenOrganization()
  useEffect(() => {
    void queryClient
      .fetchQuery({ ...organizationsQuery, staleTime: 0 })
      .then((organizations) => {
        if (organizations.some(({ id }) => id === last.id)) return
        setFormer(true)
        return open()
      })
      .catch(() => undefined)
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each former organization
  }, [last])
  if (!isFormer) return null
  return (
    <div className="flex items-center gap-x-3 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <UserRoundX aria-hidden className="size-4 shrink-0" />
      <p role="status" className="min-w-0 flex-1 wrap-anywhere">
        {text.notices.formerMember(last.name, current.name)}
      </p>
      <Button size="small" onClick={() => setFormer(false)}>
        {text.common.close}
      </Button>
    </div>
  )
}
