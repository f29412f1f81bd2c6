import { Suspense } from 'react'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { Skeleton } from '../../components/states.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { EndingSessions } from '../session/ending-sessions.tsx'
import { CodeField } from './code-field.tsx'
import { ConfirmField } from './confirm-field.tsx'
import { useVerifyTotp, useStartTotp } from './queries.ts'
import type { OnFactorAdded } from './queries.ts'

const QrCode = lazyPart(() => import('./qr-code.tsx').then((module) => module.QrCode))

export interface SetupProps {
  onAdded: OnFactorAdded
  /** A link to another setup, shown below the first step only. */
  alternative?: ReactNode
}

/** Sets up an authenticator app: the password and the first code. */
export function TotpSetup({ onAdded, alternative }: SetupProps) {
  const start = useStartTotp()
  const verify = useVerifyTotp(onAdded)
  if (!start.data) {
    return (
      <div className="grid gap-4">
        <Form<'password'>
          submitLabel={text.secondFactors.next}
          busy={start.isPending}
          error={start.error}
          onSubmit={(values) => start.mutate(values)}
        >
          <p className="text-muted">{text.secondFactors.passwordFirst}</p>
          <EndingSessions />
          <ConfirmField error={start.error} />
        </Form>
        {alternative}
      </div>
    )
  }
  const { secret, uri } = start.data
  return (
    <Form<'code'>
      submitLabel={text.secondFactors.turnOn}
      busy={verify.isPending}
      error={verify.error}
      onSubmit={({ code }) => verify.mutate({ code })}
    >
      <p>{text.secondFactors.scan}</p>
      <Suspense fallback={<Skeleton className="size-[200px] justify-self-center" />}>
        <QrCode value={uri} />
      </Suspense>
      <div className="grid gap-1">
        <p className="text-muted">{text.secondFactors.orType}</p>
        <p className="flex items-center gap-1">
          <code className="min-w-0 font-mono text-[0.8125rem]">{secret.replaceAll(/.{4}(?=.)/g, '$& ')}</code>
          <CopyButton value={secret} label={text.common.copy(text.secondFactors.key)} />
        </p>
      </div>
      <CodeField error={fieldErrors(verify.error).code} />
    </Form>
  )
}
