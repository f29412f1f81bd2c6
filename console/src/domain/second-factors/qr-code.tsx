import { QRCodeSVG } from 'qrcode.react'
import { text } from '../../text/index.ts'

/** A QR code, dark on light in both themes, because many apps don't read inverted ones. */
export function QrCode({ value }: { value: string }) {
  return (
    <div className="justify-self-center rounded-lg bg-white p-2">
      <QRCodeSVG value={value} size={184} marginSize={2} role="img" title={text.secondFactors.qrCode} />
    </div>
  )
}
