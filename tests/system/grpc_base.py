"""A gRPC client that is not ours (grpcio, from PyPI), and the messages of proto/, for tests of the gRPC door."""

import subprocess
import tempfile
import unittest
import unittest.mock

from harness import ROOT, SystemTest
from tools import packages

SERVICE = "envoy.service.ratelimit.v3.RateLimitService"
OK, OVER_LIMIT = 1, 2


def messages():
    """The classes of proto/envoy/service/ratelimit/v3/rls.proto, as Debian's protoc reads it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            ["protoc", "-I", ROOT / "proto", "--include_imports", f"--descriptor_set_out={out.name}",
             "envoy/service/ratelimit/v3/rls.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    return message_factory.GetMessages(files.file, pool=descriptor_pool.DescriptorPool())


class GrpcTest(SystemTest):
    policy = None

    @classmethod
    def setUpClass(cls):
        packages("grpc")
        import grpc
        cls.grpc = grpc
        found = messages()
        cls.Request = found["envoy.service.ratelimit.v3.RateLimitRequest"]
        cls.Response = found["envoy.service.ratelimit.v3.RateLimitResponse"]

    def setUp(self):
        super().setUp()
        if self.policy is not None:
            self.start(self.policy)

    def start(self, policy, extra=(), **options):
        self.daemon = self.suimon(policy, extra=("--grpc", "127.0.0.1:0", *extra), **options)
        self.address = "{}:{}".format(*self.daemon._address("grpc"))
        self.channel = self.connect()
        return self.daemon

    def connect(self, credentials=None, **options):
        # A channel of its own each time: grpcio would share connections to one address.
        settings = [("grpc.use_local_subchannel_pool", 1), *options.items()]
        if credentials is None:
            channel = self.grpc.insecure_channel(self.address, settings)
        else:
            channel = self.grpc.secure_channel(self.address, credentials, settings)
        self.addCleanup(channel.close)
        return channel

    def request(self, *descriptors, domain="shop", hits=0):
        """Of each descriptor its entries as a dict; the key None stands for its own hits."""
        request = self.Request(domain=domain, hits_addend=hits)
        for entries in descriptors:
            descriptor = request.descriptors.add()
            for key, value in entries.items():
                if key is None:
                    descriptor.hits_addend.value = value
                else:
                    descriptor.entries.add(key=key, value=value)
        return request

    def method(self, channel=None):
        return (channel or self.channel).unary_unary(
            f"/{SERVICE}/ShouldRateLimit", request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.Response.FromString)

    def ask(self, *descriptors, channel=None, timeout=20, **members):
        return self.method(channel)(self.request(*descriptors, **members), timeout=timeout)

    def assert_fails(self, code, words, call):
        with self.assertRaises(self.grpc.RpcError) as caught:
            call()
        self.assertEqual((caught.exception.code(), caught.exception.details()),
                         (getattr(self.grpc.StatusCode, code), unittest.mock.ANY))
        self.assertRegex(caught.exception.details(), words)
