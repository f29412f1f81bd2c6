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

/** Stripe's own form for a card, which leads back to the session's return address when it is done. */
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
  const place = useRef<HTMLDivElement>(null)
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    let isOver = false
    let form: StripeEmbeddedCheckout | undefined
    const show = async () => {
      const stripe = await loadStripe(publishableKey)
      if (isOver || !stripe || !place.current) return
      form = await stripe.createEmbeddedCheckoutPage({ clientSecret })
      // Stripe allows one form at a time: none may stay behind on a page that was left meanwhile.
      if (isOver) return form.destroy()
      form.mount(place.current)
      setShown(true)
    }
    show().catch(() => {
      const detail = text.billing.checkoutUnavailable
      if (!isOver) onError(new ApiError({ status: 0, code: 'offline', detail }))
    })
    return () => {
      isOver = true
      form?.destroy()
    }
  }, [publishableKey, clientSecret, onError])
  return (
    <>
      {!isShown && <Skeleton className="h-96" />}
      <div ref={place} />
    </>
  )
}
