"""An experiment on text as public notebooks do it with minio-py and TensorFlow: archives, an encoder, compressed records,
training with callbacks, a saved model. Each step is a test; what it needs of the steps before is made once.

Everything lies below one branch, so that other branches can hold other experiments."""

import functools
import os
import tarfile
from pathlib import Path

import tensorflow as tf
import tensorflow_io  # noqa: F401  (brings the file system)
import tf_keras
from minio import Minio

BRANCH = "dev"
WORDS = {1: ["good", "great", "fine", "fun", "warm"], 0: ["bad", "poor", "dull", "cold", "weak"]}
FILES, PER_FILE = 5, 40  # of the training records
WIDTH = 16
EPOCHS = 3


def point_to(box):
    """Where the file system looks; it needs the scheme, and no longer knows S3_USE_HTTPS."""
    os.environ.update(box.keys_in_environment(), S3_ENDPOINT=box.url, S3_USE_HTTPS="0", S3_VERIFY_SSL="0")


def place(box, path):
    point_to(box)
    return f"s3://{box.repo}/{BRANCH}/{path}"


@functools.cache
def client(box):
    return Minio(box.address, access_key=box.access_key, secret_key=box.secret_key, secure=False)


def reviews(first, count):
    """(text, label), the same in every run."""
    return [
        (" ".join(WORDS[n % 2][(n * step) % 5] for step in (1, 2, 3)) + f" film {n}", n % 2) for n in range(first, first + count)
    ]


@functools.cache
def archive(box):
    """Uploads the data set as one archive; returns its path here."""
    top, path = Path(box.scratch) / "reviews", Path(box.scratch) / "reviews.tar.gz"
    for part, first, count in (("train", 0, FILES * PER_FILE), ("test", 1000, 2 * PER_FILE)):
        for number, (text, label) in enumerate(reviews(first, count)):
            file = top / part / ("pos" if label else "neg") / f"{number:05}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    with tarfile.open(path, "w:gz") as tar:
        tar.add(top, "reviews")
    client(box).fput_object(box.repo, f"{BRANCH}/reviews.tar.gz", str(path))
    return path


class Encoder(tf.Module):
    """In place of one from a hub: the mean of a vector for each word."""

    def __init__(self):
        super().__init__()
        self.vectors = tf.Variable(tf.random.stateless_normal((512, WIDTH), seed=(1, 2)))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, texts):
        words = tf.strings.to_hash_bucket_fast(tf.strings.split(texts), 512)
        return tf.reduce_mean(tf.ragged.map_flat_values(lambda found: tf.gather(self.vectors, found), words), axis=1)


@functools.cache
def uploaded_encoder(box):
    """Saves it here and uploads file by file; returns the keys."""
    top = Path(box.scratch) / "encoder"
    tf.saved_model.save(Encoder(), str(top))
    keys = {f"{BRANCH}/encoder/4/{file.relative_to(top)}": file for file in sorted(top.rglob("*")) if file.is_file()}
    for key, file in keys.items():
        client(box).fput_object(box.repo, key, str(file))
    return keys


@functools.cache
def encoder(box):
    uploaded_encoder(box)
    return tf.saved_model.load(place(box, "encoder/4"))


def example(vector, label):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "vector": tf.train.Feature(float_list=tf.train.FloatList(value=vector)),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
        )
    ).SerializeToString()


@functools.cache
def records(box):
    """Encodes the reviews and uploads them as compressed records; returns the keys."""
    keys = []
    for part, start, files in (("train", 0, FILES), ("test", 1000, 2)):
        for number in range(files):
            found = reviews(start + number * PER_FILE, PER_FILE)
            file = f"{box.scratch}/{part}_file{number}.tfrecord"
            with tf.io.TFRecordWriter(file, tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
                for vector, (_, label) in zip(encoder(box)(tf.constant([text for text, _ in found])).numpy(), found, strict=True):
                    writer.write(example(vector, label))
            keys.append(f"{BRANCH}/preprocessed-data/{part}_file{number}.tfrecord")
            client(box).fput_object(box.repo, keys[-1], file)
    return keys


def listed(box, prefix):
    return [found.object_name for found in client(box).list_objects(box.repo, prefix=f"{BRANCH}/{prefix}")]


def parsed(record):
    found = tf.io.parse_single_example(
        record, {"vector": tf.io.FixedLenFeature([WIDTH], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    )
    return found["vector"], found["label"]


def data(box, keys):
    point_to(box)
    return (
        tf.data.TFRecordDataset(
            [f"s3://{box.repo}/{key}" for key in keys], num_parallel_reads=tf.data.AUTOTUNE, compression_type="GZIP"
        )
        .map(parsed)
        .batch(20)
    )


@functools.cache
def trained(box):
    """(model, history), with the callbacks that write to the branch."""
    records(box)
    keys = listed(box, "preprocessed-data/train")
    model = tf_keras.Sequential([tf_keras.layers.Dense(256, "relu", input_shape=(WIDTH,)), tf_keras.layers.Dense(2)])
    model.compile("adam", tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"])
    history = model.fit(
        data(box, keys[:-1]),
        validation_data=data(box, keys[-1:]),
        epochs=EPOCHS,
        verbose=0,
        callbacks=[
            tf_keras.callbacks.ModelCheckpoint(place(box, "checkpoints/cp.ckpt"), save_weights_only=True),
            tf_keras.callbacks.TensorBoard(log_dir=place(box, "logs/reviews/256")),
        ],
    )
    return model, history.history


@functools.cache
def saved(box):
    path = place(box, "sentiment_analysis/1")
    trained(box)[0].save(path)
    return path


def also_finds_the_bucket_with_minio(box):
    assert client(box).bucket_exists(box.repo)


def also_fetches_the_archive_of_the_data(box):
    target = f"{box.scratch}/fetched.tar.gz"
    path = archive(box)
    client(box).fget_object(box.repo, f"{BRANCH}/reviews.tar.gz", target)
    assert Path(target).read_bytes() == path.read_bytes()
    with tarfile.open(target) as tar:
        assert len([name for name in tar.getnames() if name.endswith(".txt")]) == (FILES + 2) * PER_FILE


def also_uploads_an_encoder_and_fetches_it(box):
    for key, file in uploaded_encoder(box).items():
        client(box).fget_object(box.repo, key, f"{box.scratch}/of-encoder")
        assert Path(f"{box.scratch}/of-encoder").read_bytes() == file.read_bytes()


def also_loads_the_encoder_from_the_branch(box):
    text = tf.constant(["good film"])
    assert (encoder(box)(text).numpy() == Encoder()(text).numpy()).all()


def also_uploads_compressed_records(box):
    assert len(records(box)) == FILES + 2
    assert all(client(box).stat_object(box.repo, key).size > PER_FILE * WIDTH for key in records(box))


def also_lists_the_records(box):
    keys = records(box)
    assert listed(box, "preprocessed-data/train") == keys[:FILES]
    assert listed(box, "preprocessed-data/test") == keys[FILES:]
    assert listed(box, "train") == []


def also_finds_the_server_by_the_environment(box):
    size = client(box).stat_object(box.repo, records(box)[0]).size
    assert tf.io.gfile.stat(place(box, "preprocessed-data/train_file0.tfrecord")).length == size


def also_reads_records_in_parallel(box):
    labels = [int(label) for _, batch in data(box, records(box)[:FILES]) for label in batch]
    assert (len(labels), sum(labels)) == (FILES * PER_FILE, FILES * PER_FILE // 2)


def also_checkpoints_each_epoch(box):
    model, _ = trained(box)
    names = set(tf.io.gfile.listdir(place(box, "checkpoints")))
    assert names == {"checkpoint", "cp.ckpt.index", "cp.ckpt.data-00000-of-00001"}, names
    fresh = tf_keras.models.clone_model(model)
    fresh.load_weights(place(box, "checkpoints/cp.ckpt")).assert_existing_objects_matched()
    assert all((one == other).all() for one, other in zip(fresh.get_weights(), model.get_weights(), strict=True))


def also_logs_for_tensorboard(box):
    _, history = trained(box)
    for part, losses in (("train", history["loss"]), ("validation", history["val_loss"])):
        logged = [
            tf.make_ndarray(value.tensor).item()
            for file in tf.io.gfile.glob(place(box, f"logs/reviews/256/{part}/*"))
            for event in tf.compat.v1.train.summary_iterator(file)
            for value in event.summary.value
            if value.tag == "epoch_loss"
        ]
        assert len(logged) == EPOCHS and all(abs(a - b) < 1e-5 for a, b in zip(logged, losses, strict=True)), (logged, losses)


def also_saves_the_model(box):
    names = {name.rstrip("/") for name in tf.io.gfile.listdir(saved(box))}
    assert {"saved_model.pb", "keras_metadata.pb", "variables"} <= names, names


def also_loads_the_model_and_evaluates_it(box):
    test = data(box, listed(box, "preprocessed-data/test"))
    before, loaded = trained(box)[0].evaluate(test, verbose=0), tf_keras.models.load_model(saved(box))
    after = loaded.evaluate(test, verbose=0)
    assert all(abs(one - other) < 1e-5 for one, other in zip(before, after, strict=True)), (before, after)
    assert after[1] > 0.9
