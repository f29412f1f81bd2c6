import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { LinkedIdentity } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Form } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useToasts } from '../../components/toast.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { ConfirmField } from '../../domain/second-factors/confirm-field.tsx'
import { EndingSessions } from '../../domain/session/ending-sessions.tsx'
import { ssoProvidersQuery } from '../../domain/session/sign-in-methods.ts'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { identitiesQuery, useUnlinkIdentity } from './queries.ts'

/** Accounts at identity providers, if any. A link can be removed while a password remains. */
export function IdentitiesSection({ hasPassword }: { hasPassword: boolean }) {
  const { data: identities = [] } = useQuery(identitiesQuery)
  const passwords = usePasswordsAllowed()
  const mayRemove = passwords && hasPassword
  if (identities.length === 0) return null
  return (
    <Section flush title={text.profile.identities} description={text.profile.identitiesDescription}>
      <ul className="divide-y">
        {identities.map((identity) => (
          <IdentityItem key={identity.id} identity={identity} mayRemove={mayRemove} />
        ))}
      </ul>
      {passwords && !hasPassword && (
        <p className="border-t px-5 py-4 text-muted">{text.profile.onlyIdentity}</p>
      )}
    </Section>
  )
}

function IdentityItem({ identity, mayRemove }: { identity: LinkedIdentity; mayRemove: boolean }) {
  const [open, setOpen] = useState(false)
  const { data: providers = [] } = useQuery(ssoProvidersQuery)
  const { provider, issuer, subject, linked_at: linkedAt } = identity
  const name = providers.find((each) => each.name === provider)?.display_name ?? issuer
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-5 py-4">
      <div className="grid min-w-0 gap-0.5">
        <p className="font-medium wrap-anywhere">{name}</p>
        <p className="text-[0.8125rem] wrap-anywhere text-muted">
          {text.profile.identityFacts(subject, formatDay(linkedAt))}
        </p>
      </div>
      {mayRemove && (
        <Button size="small" aria-label={text.profile.unlinkFrom(name)} onClick={() => setOpen(true)}>
          {text.profile.unlink}
        </Button>
      )}
      {open && <UnlinkDialog id={identity.id} name={name} onClose={() => setOpen(false)} />}
    </li>
  )
}

/** Removes the link after a confirmation. */
function UnlinkDialog({ id, name, onClose }: { id: number; name: string; onClose: () => void }) {
  const removal = useUnlinkIdentity(id)
  const toasts = useToasts()
  const onSuccess = () => {
    onClose()
    toasts.success(text.profile.unlinked)
  }
  return (
    <Dialog
      onClose={onClose}
      title={text.profile.unlinkTitle(name)}
      description={text.profile.unlinkDescription}
    >
      <Form<'password'>
        submitLabel={text.profile.unlink}
        busy={removal.isPending}
        error={removal.error}
        onSubmit={(values) => removal.mutate(values, { onSuccess })}
      >
        <EndingSessions />
        <ConfirmField error={removal.error} />
      </Form>
    </Dialog>
  )
}
