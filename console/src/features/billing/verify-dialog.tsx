import { Download } from 'lucide-react'
import type { Invoice } from '../../contract.ts'
import { toUrl } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'

const file = 'invoice-proof.json'

/** Offers the proof of an invoice and the command that recomputes it. */
export function VerifyDialog({ invoice, onClose }: { invoice: Invoice; onClose: () => void }) {
  const url = toUrl('/v1/billing/invoices/{invoice_id}/proof', {
    path: { invoice_id: invoice.processor_invoice_id },
  })
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.billing.verifyTitle(formatDay(invoice.created))}
      description={text.billing.verifyWords}
      actions={
        <Button variant="primary" asChild>
          <a href={url} download={file}>
            <Download aria-hidden />
            {text.billing.downloadProof}
          </a>
        </Button>
      }
    >
      <CodeBlock wrap label={text.billing.verifyCommand} code={`berth bill verify ${file}`} />
    </Dialog>
  )
}
