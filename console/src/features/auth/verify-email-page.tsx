import { useNavigate, useSearch } from '@tanstack/react-router'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { useVerifyEmail } from './queries.ts'
import { SignedInFooter } from './signed-in-footer.tsx'

/** Verifies the address of the signed-in person through the link of the welcome email. */
export function VerifyEmailPage() {
  const { token } = useSearch({ from: '/verify-email' })
  const { user } = useSession()
  const verify = useVerifyEmail()
  const navigate = useNavigate()
  const toasts = useToasts()
  const leave = () => {
    toasts.success(text.auth.emailVerified)
    void navigate({ to: '/deployments', replace: true })
  }
  return (
    <AuthLayout
      title={text.auth.verifyTitle}
      description={<p>{text.auth.verifyDescription(user.email)}</p>}
      footer={<SignedInFooter />}
    >
      <ErrorMessage error={verify.error} />
      <Button
        variant="primary"
        busy={verify.isPending}
        onClick={() => verify.mutate({ token }, { onSuccess: leave })}
      >
        {text.auth.verify}
      </Button>
    </AuthLayout>
  )
}
