import type { StripeEmbeddedCheckout } from '@stripe/stripe-js'
import { loadStripe } from '@stripe/stripe-js/pure'
import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

interface StripeFormProps {
  clientSecret: string
  publishableKey: string
}

/** Stripe's card form. Stripe redirects to the session's return URL afterwards. */
export function StripeCheckout(props: StripeFormProps) {
  const [error, setError] = useState<unknown>(null)
  if (error) return <ErrorState error={error} onRetry={() => setError(null)} />
  return <StripeForm {...props} onError={setError} />
}

function StripeForm({
  clientSecret,
  publishableKey,
  onError,
}: StripeFormProps & { onError: (error: unknown) => void }) {
  const container = useRef<HTMLDivElement>(null)
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    let isUnmounted = false
    let form: StripeEmbeddedCheckout | undefined
    const show = async () => {
      const stripe = await loadStripe(publishableKey)
      if (isUnmounted || !stripe || !container.current) return
      form = await stripe.createEmbeddedCheckoutPage({ clientSecret })
      // Stripe allows one form at a time, so destroy a form that finished loading after the page was left.
      if (isUnmounted) return form.destroy()
      form.mount(container.current)
      setShown(true)
    }
    show().catch(() => {
      const detail = text.billing.checkoutUnavailable
      if (!isUnmounted) onError(new ApiError({ status: 0, code: 'offline', detail }))
    })
    return () => {
      isUnmounted = true
      form?.destroy()
    }
  }, [publishableKey, clientSecret, onError])
  return (
    <>
      {!isShown && <Skeleton className="h-96" />}
      <div ref={container} />
    </>
  )
}
