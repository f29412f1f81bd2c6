import { useState } from 'react'
import type { Profile } from '../../contract.ts'
import { toUrl } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { text } from '../../text/index.ts'
import { useDeleteAccount } from './queries.ts'
import { sections } from './sections.ts'

/** Downloads the person's data, or deletes the account. */
export function DataSection({ profile }: { profile: Profile }) {
  const [deleting, setDeleting] = useState(false)
  return (
    <Section id={sections.data} title={text.profile.data} description={text.profile.dataDescription}>
      <div className="flex flex-wrap gap-3">
        <Button asChild>
          <a href={toUrl('/v1/user/export')} download>
            {text.profile.export}
          </a>
        </Button>
        <Button variant="danger" onClick={() => setDeleting(true)}>
          {text.profile.deleteAccount}
        </Button>
      </div>
      {deleting && <DeleteDialog profile={profile} onClose={() => setDeleting(false)} />}
    </Section>
  )
}

function DeleteDialog({ profile, onClose }: { profile: Profile; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const deletion = useDeleteAccount()
  const asksPassword = usePasswordsAllowed() && profile.has_password
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.profile.deleteTitle}
      description={text.profile.deleteDescription}
      confirmLabel={text.profile.deleteAccount}
      dangerous
      busy={deletion.isPending}
      onConfirm={() => deletion.mutate(asksPassword ? { password } : {})}
    >
      <div className="grid gap-3">
        {asksPassword ? (
          <PasswordField value={password} onChange={({ target }) => setPassword(target.value)} />
        ) : (
          <p className="text-muted">{text.profile.deleteBySso}</p>
        )}
        <ErrorMessage error={deletion.error} />
      </div>
    </ConfirmDialog>
  )
}
