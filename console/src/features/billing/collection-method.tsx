import { useState } from 'react'
import type { CollectionMethodInput } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useUpdateCollectionMethod } from './queries.ts'

type Method = CollectionMethodInput['collection_method']

/** Shows whether invoices are charged or sent, with a button to change it. */
export function CollectionMethodRow({ method, canSend }: { method: Method; canSend: boolean }) {
  const [isAsking, setAsking] = useState(false)
  const other: Method = method === 'charge_automatically' ? 'send_invoice' : 'charge_automatically'
  const change = useUpdateCollectionMethod()
  const toasts = useToasts()
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 border-t pt-5">
      <div className="grid gap-0.5">
        <p className="text-[0.8125rem] text-muted">{text.billing.collection}</p>
        <p>
          <span className="font-medium">{text.billing.collectionMethods[method]}.</span>{' '}
          <span className="text-muted">{text.billing.collectionWords[method]}</span>
        </p>
      </div>
      {(canSend || other === 'charge_automatically') && (
        <Button
          size="small"
          aria-label={`${text.billing.change}: ${text.billing.collection}`}
          onClick={() => {
            change.reset()
            setAsking(true)
          }}
        >
          {text.billing.change}
        </Button>
      )}
      <ConfirmDialog
        open={isAsking}
        onOpenChange={(open) => !open && setAsking(false)}
        title={text.billing.changeTo[other]}
        description={text.billing.changeWords[other]}
        confirmLabel={text.billing.changeConfirm[other]}
        busy={change.isPending}
        onConfirm={() =>
          change.mutate(other, {
            onSuccess: () => {
              setAsking(false)
              toasts.success(text.billing.changed[other])
            },
          })
        }
      >
        <ErrorMessage error={change.error} />
      </ConfirmDialog>
    </div>
  )
}
