import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';

/** In pixels, multiples of 16: the frames consist of such blocks. */
const [width, height] = [128, 96];
const framesPerSecond = 10;
const blocks = (width / 16) * (height / 16);

/** Writes the bits of an H.264 stream, from the most significant bit of each byte. */
class Bits {
  readonly #bytes: number[] = [];
  #count = 0;

  /** `u(n)` */
  put(value: number, length: number): this {
    for (let bit = length - 1; bit >= 0; bit -= 1) {
      const place = this.#count >> 3;
      this.#bytes[place] =
        (this.#bytes[place] ?? 0) | (((value >> bit) & 1) << (7 - (this.#count & 7)));
      this.#count += 1;
    }

    return this;
  }

  /** `ue(v)`, and `se(v)` of 0. */
  code(value: number): this {
    const length = 32 - Math.clz32(value + 1);
    return this.put(0, length - 1).put(value + 1, length);
  }

  align(): this {
    return this.put(0, (8 - (this.#count & 7)) & 7);
  }

  /** Returns a NAL unit, with escapes so that its content contains no start code. */
  unit(header: number): Buffer {
    this.put(1, 1).align();
    const escaped = [header];
    let zeros = 0;
    for (const byte of this.#bytes) {
      if (zeros === 2 && byte <= 3) {
        escaped.push(3);
        zeros = 0;
      }
      escaped.push(byte);
      zeros = byte === 0 ? zeros + 1 : 0;
    }

    return Buffer.from(escaped);
  }
}

/** A sequence parameter set: Constrained Baseline, level 3. Source: ITU-T H.264, 7.3.2.1.1. */
const sequence = (): Buffer =>
  new Bits()
    .put(66, 8)
    .put(0b1100_0000, 8)
    .put(30, 8)
    .code(0)
    .code(0) // log2_max_frame_num_minus4
    .code(2) // pic_order_cnt_type
    .code(0) // max_num_ref_frames
    .put(0, 1)
    .code(width / 16 - 1)
    .code(height / 16 - 1)
    .put(0b1100, 4) // Frames only, 8 × 8 inference, no cropping, no VUI.
    .unit(0x67);

/** A picture parameter set with the simplest values. Source: ITU-T H.264, 7.3.2.2. */
const picture = (): Buffer =>
  new Bits()
    .code(0)
    .code(0)
    .put(0, 2)
    .code(0)
    .code(0)
    .code(0)
    .put(0, 3)
    .code(0)
    .code(0)
    .code(0)
    .put(0, 3)
    .unit(0x68);

/** An IDR picture with uncompressed blocks (I_PCM). Source: ITU-T H.264, 7.3.3 and 7.3.5. */
function frame(index: number): Buffer {
  const bits = new Bits()
    .code(0) // first_mb_in_slice
    .code(7) // slice_type: I for the whole picture
    .code(0)
    .put(0, 4) // frame_num
    .code(index % 2) // idr_pic_id
    .put(0, 2)
    .code(0); // slice_qp_delta
  for (let block = 0; block < blocks; block += 1) {
    bits.code(25).align();
    for (let sample = 0; sample < 384; sample += 1) {
      // Moving grey stripes, and constant chroma.
      bits.put(sample < 256 ? 32 + ((sample + block * 7 + index * 4) % 192) : 96, 8);
    }
  }

  const unit = bits.unit(0x65);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(unit.length);
  return Buffer.concat([length, unit]);
}

/** A video that every player and server can show, made without an encoder: H.264, 128 × 96 pixels, 18 kB a frame. */
export async function playableMp4(seconds: number): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const source = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(source, { frameRate: framesPerSecond });
  await output.start();
  const [sps, pps] = [sequence(), picture()];
  const description = Buffer.concat([
    Buffer.from([1, 66, 0b1100_0000, 30, 0xff, 0xe1, 0, sps.length]),
    sps,
    Buffer.from([1, 0, pps.length]),
    pps,
  ]);
  const decoderConfig = {
    codec: 'avc1.42c01e',
    codedWidth: width,
    codedHeight: height,
    description,
  };
  for (let count = 0; count < seconds * framesPerSecond; count += 1) {
    const packet = new EncodedPacket(
      frame(count),
      'key',
      count / framesPerSecond,
      1 / framesPerSecond,
    );
    await source.add(packet, count === 0 ? { decoderConfig } : undefined);
  }
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}
