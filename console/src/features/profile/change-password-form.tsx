import { useLocation } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { focusField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useToasts } from '../../components/toast.tsx'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { useChangePassword } from './queries.ts'
import { sections } from './sections.ts'

const EndingSessions = lazyPart(() =>
  import('../../domain/session/ending-sessions.tsx').then((module) => module.EndingSessions),
)

/** Changes the password; the other sessions end. */
export function ChangePasswordForm() {
  const change = useChangePassword()
  const toasts = useToasts()
  // A new key empties the fields after a change.
  const [changes, setChanges] = useState(0)
  const isAddressed = useLocation({ select: ({ hash }) => hash === sections.signIn })
  const errors = fieldErrors(change.error)
  return (
    <Form<'current_password' | 'new_password'>
      key={changes}
      submitLabel={text.profile.changePassword}
      busy={change.isPending}
      error={change.error}
      onSubmit={(values) =>
        change.mutate(values, {
          onSuccess: () => {
            setChanges(changes + 1)
            toasts.success(text.profile.passwordChanged)
          },
        })
      }
    >
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <PasswordField
          ref={isAddressed ? focusField : undefined}
          label={text.profile.currentPassword}
          name="current_password"
          error={errors.current_password}
        />
        <PasswordField isNew name="new_password" error={errors.new_password} />
      </div>
      <Suspense>
        <EndingSessions />
      </Suspense>
    </Form>
  )
}
